// The known context window of a provider's models. What certainly does not fit is refused before it is sent: some
// upstreams would cut it without a word. It does not guess: what may fit is for the upstream to judge.
import { AppError } from '#libs/schemas/errors.js';
import { messageText } from '#libs/schemas/message.js';
import type { ModelRequest } from '../model-provider.js';

const space = 0x20;

export const exceedsWindow = (provider: string, tokens: number) =>
  new AppError(
    'context_length_exceeded',
    `The request has more than the ${tokens} tokens that models of provider '${provider}' take`,
    { param: 'messages' },
  );

/** Whether the words alone are more than `tokens`: no tokenizer makes one token of two words, most make several of one. */
export function isTooLong({ messages, tools }: ModelRequest, tokens: number): boolean {
  let words = 0;
  for (const message of messages) {
    words += wordsIn(messageText(message.content), tokens - words);
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) words += wordsIn(call.function.arguments, tokens - words);
    }
    if (words > tokens) return true;
  }
  for (const { description = '' } of tools) words += wordsIn(description, tokens - words);
  return words > tokens;
}

/** Counted no further than one above `enough`. */
function wordsIn(text: string, enough: number): number {
  let words = 0;
  let within = false;
  for (let at = 0; at < text.length && words <= enough; at += 1) {
    const letter = text.charCodeAt(at) > space;
    if (letter && !within) words += 1;
    within = letter;
  }
  return words;
}
