// The built-in model: no key, no network, and the same answer to the same messages. The model follows rules and says
// so, and does not replace a language model.
import { createHash } from 'node:crypto';
import { AppError } from '#libs/schemas/errors.js';
import { estimateTokens, wideCharacter } from '#libs/tool-search/estimate-tokens.js';
import type { Warning } from '#libs/schemas/warning.js';
import { providerToolsOf } from '../conversation/provider-tools.js';
import { Warnings } from '../conversation/warnings.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { messageText } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ModelCall, ModelProvider, ModelRequest, TakeModelEvents } from '../model-provider.js';
import { answerInJson, answerText } from './answer.js';
import { loadDateParsers } from './moments.js';
import { planWithSearch, withoutSearches } from './look-for-tools.js';
import type { OfflineCall } from './plan-calls.js';
import { readConversationState } from './read-conversation-state.js';

const mostPieces = 64;
const leastPiece = 12;

export class OfflineProvider implements ModelProvider {
  /** `now` is in epoch ms, for relative days in requests. */
  constructor(
    readonly name: string = 'offline',
    private readonly now: () => number = Date.now,
  ) {}

  async call(request: ModelRequest, call: ModelCall, take: TakeModelEvents): Promise<void> {
    await loadDateParsers();
    let length = 0;
    for (const event of this.answer(request)) {
      if (call.signal.aborted) {
        await take([{ type: 'error', error: new AppError('cancelled', 'The model call was cancelled') }]);
        return;
      }
      const flow = take([event]);
      if (flow !== undefined && (await flow) === 'enough') return;
      // Let other work of the process run during a long answer.
      length += 1;
      if (length % 16 === 0) await new Promise<void>((done) => setImmediate(done));
    }
  }

  listModels(_signal: AbortSignal): Promise<string[]> {
    return Promise.resolve(['offline']);
  }

  /** The same number as in `usage`. */
  countTokens(request: ModelRequest): Promise<number> {
    return Promise.resolve(promptTokens(request));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private *answer(request: ModelRequest): Iterable<ModelEvent> {
    const { messages, tools, parameters } = request;
    const now = this.now();
    const conversation = readConversationState(messages);
    const plan = planWithSearch(conversation, request, now);
    const digest = createHash('sha256').update(jsonText(messages)).digest('hex').slice(0, 24);
    const limit = mostTokens(parameters);
    const prompt = promptTokens(request);
    yield { type: 'message_start', model: this.name, responseId: `offline-${digest}`, ...leftOut(request) };
    if (plan.calls.length > 0)
      return yield* callEvents(plan.calls, { before: conversation.steps.length, prompt, limit });
    const text = answerText(withoutSearches(conversation, request), plan, tools.length > 0);
    const structured = answerInJson(parameters['response_format'], text, conversation.request, now);
    const stopped = cutAtStop(structured ?? text, parameters['stop']);
    const cut = cutToTokens(stopped, limit);
    for (const piece of request.stream ? inPieces(cut) : [cut])
      if (piece !== '') yield { type: 'text_delta', text: piece };
    yield usageEvent(prompt, estimateTokens(cut));
    yield { type: 'message_end', finishReason: cut.length < stopped.length ? 'length' : 'stop' };
  }
}

/** The offline model has no tools of its own. */
function leftOut({ providerTools }: ModelRequest): { warnings?: readonly Warning[] } {
  if (providerTools === undefined) return {};
  const warnings = new Warnings();
  providerToolsOf(providerTools, undefined, warnings);
  return warnings.list === undefined ? {} : { warnings: warnings.list };
}

function* callEvents(
  calls: readonly OfflineCall[],
  { before, prompt, limit }: { before: number; prompt: number; limit: number },
): Iterable<ModelEvent> {
  let spent = 0;
  for (const [index, { name, arguments: args }] of calls.entries()) {
    const id = `offline_call_${before + index + 1}`;
    const text = JSON.stringify(args);
    const cut = cutToTokens(text, limit - spent);
    spent += estimateTokens(cut);
    yield { type: 'tool_call_start', index, id, name };
    for (const piece of inPieces(cut)) yield { type: 'tool_call_delta', index, arguments: piece };
    // A call that is cut at `max_tokens` never ends, so it never runs.
    if (cut.length < text.length) {
      yield usageEvent(prompt, spent);
      yield { type: 'message_end', finishReason: 'length' };
      return;
    }
    yield { type: 'tool_call_end', index, id, name, arguments: text };
  }
  yield usageEvent(prompt, spent);
  yield { type: 'message_end', finishReason: 'tool_calls' };
}

function usageEvent(prompt: number, completion: number): ModelEvent {
  return {
    type: 'usage',
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  };
}

function mostTokens({ max_tokens: most, max_completion_tokens: mostCompletion }: JsonObject): number {
  return Math.min(...[most, mostCompletion].map((bound) => (typeof bound === 'number' ? bound : Infinity)));
}

function promptTokens({ messages, tools }: ModelRequest): number {
  const texts = messages.flatMap((message) => [
    messageText(message.content),
    ...((message.role === 'assistant' && message.tool_calls) || []).map((call) => call.function.arguments),
  ]);
  const counts = [...texts, ...tools.map(jsonText)].map(estimateTokens);
  return counts.reduce((sum, count) => sum + count, 4 * messages.length);
}

/** Empty if the nesting is too deep for JSON.stringify. */
function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return '';
  }
}

function cutToTokens(text: string, most: number): string {
  let quarters = Math.max(0, Math.floor(most)) * 4;
  let end = 0;
  for (const character of text) {
    quarters -= character.search(wideCharacter) < 0 ? character.length : 4;
    if (quarters < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function cutAtStop(text: string, stop: unknown): string {
  const stops = [stop].flat().filter((one): one is string => typeof one === 'string' && one !== '');
  const places = stops.map((one) => text.indexOf(one)).filter((at) => at >= 0);
  return text.slice(0, Math.min(text.length, ...places));
}

function* inPieces(text: string): Iterable<string> {
  const size = Math.max(leastPiece, Math.ceil(text.length / mostPieces));
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + size);
    while (to < text.length && to < from + size + 12 && !/[\s,.;:!?，。；：！？、）)"}\]]/.test(text[to - 1]!)) to += 1;
    // Never between the halves of a character.
    if (/[\uD800-\uDBFF]/.test(text[to - 1]!)) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}
