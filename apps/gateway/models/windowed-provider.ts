// A provider whose models have a known context window. What certainly does not fit is refused before it is sent: some
// upstreams would cut it without a word. It does not guess: what may fit is for the upstream to judge.
import { AppError } from '#libs/schemas/errors.js';
import { messageText } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ModelCall, ModelProvider, ModelRequest } from './model-provider.js';
import { WrappedProvider } from './wrapped-provider.js';

const SPACE = 0x20;

export class WindowedProvider extends WrappedProvider {
  constructor(
    inner: ModelProvider,
    private readonly tokens: number,
  ) {
    super(inner);
  }

  call(request: ModelRequest, call: ModelCall): AsyncIterable<readonly ModelEvent[]> {
    return exceeds(request, this.tokens) ? this.refuse() : this.inner.call(request, call);
  }

  private async *refuse(): AsyncGenerator<readonly ModelEvent[]> {
    const message = `The request has more than the ${this.tokens} tokens that models of provider '${this.name}' take`;
    yield [{ type: 'error', error: new AppError('context_length_exceeded', message, { param: 'messages' }) }];
  }
}

/** Whether the words alone are more: no tokenizer makes one token of two words, most make several of one. */
function exceeds({ messages, tools }: ModelRequest, tokens: number): boolean {
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
    const letter = text.charCodeAt(at) > SPACE;
    if (letter && !within) words += 1;
    within = letter;
  }
  return words;
}
