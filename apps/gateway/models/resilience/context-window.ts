// The known context window of a provider's models. A request that certainly does not fit is refused before it is sent,
// because some upstreams would silently cut it. In doubt, the upstream decides.
import { AppError } from '#libs/schemas/errors.js';
import { messageText } from '#libs/schemas/message.js';
import type { ModelRequest } from '../model-provider.js';

const space = 0x20;

export const exceedsWindow = (provider: string, tokens: number) =>
  new AppError(
    'context_length_exceeded',
    `The request has more than the ${tokens} tokens that models of provider '${provider}' accept`,
    { param: 'messages' },
  );

/** Whether the words alone exceed `tokens`: no tokenizer combines two words into one token, and most split words. */
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

/** Stops counting at one above `enough`. */
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
