// Translates one answer of an OpenAI-compatible upstream to model events. A whole answer is one chunk whose `message` is
// the delta. Knows no HTTP and never throws on bad input.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { AnswerExtras, ModelEvent } from '#libs/schemas/model-event.js';
import type { ProviderState } from '#libs/schemas/message.js';
import { answeredNothing, AnswerEnding, cutShort } from '../wire/answer-ending.js';
import { mergeMembers } from '../conversation/merge-members.js';
import type { StreamedCall } from '../conversation/streamed-calls.js';
import type { AnswerReader, Reading } from '../wire/wire-family.js';
import { mapOpenAiFinishReason } from './map-openai-finish-reason.js';
import { ToolCallMerger } from './merge-tool-calls.js';
import {
  extrasOf,
  keptMembers,
  readReasoning,
  readContentText,
  readOpenAiUsage,
  unknownMembers,
} from './read-openai-content.js';
import { readErrorMember } from './read-openai-error.js';
import { toReplay } from './compatible/replayed-members.js';

export interface OpenAiReading extends Reading {
  /** The requested model, used if the answer names none. */
  model: string;
  /** `n` of the request; default 1. */
  choices?: number;
  /** Whether reasoning becomes provider state, to be replayed. */
  storeReasoning: boolean;
}

interface Choice {
  readonly index: number;
  finishReason: string | undefined;
  /** The choice continued after its finish reason: some upstreams send one with every chunk. */
  continued: boolean;
  extras: AnswerExtras | undefined;
}

export class OpenAiAnswerReader implements AnswerReader {
  private started = false;
  private readonly choices: Choice[] = [];
  /** Undefined while there are no calls. */
  private calls: ToolCallMerger | undefined;
  private readonly ending = new AnswerEnding();
  private chunkExtras?: JsonObject;
  private reasoning = '';
  /** Members of the message, joined, to be sent back to the provider. */
  private kept?: JsonObject;

  constructor(private readonly reading: OpenAiReading) {}

  get over(): boolean {
    return this.ending.over;
  }

  /** All requested choices have ended, and no choice continued after a finish reason. */
  get settled(): boolean {
    if (!this.finished || this.choices.length < (this.reading.choices ?? 1)) return false;
    return !this.choices.some(({ continued }) => continued);
  }

  /** Every choice so far has a finish reason. */
  private get finished(): boolean {
    return this.choices.length > 0 && this.choices.every(({ finishReason }) => finishReason !== undefined);
  }

  read(chunk: JsonObject, out: ModelEvent[]): void {
    const error = readErrorMember(chunk);
    if (error !== undefined) return this.fail(this.reading.errors.inAnswer(error), out);
    const choices = Array.isArray(chunk['choices']) ? chunk['choices'] : [];
    const first = choices[0];
    const usage = readOpenAiUsage(chunk, isJsonObject(first) ? first : undefined);
    if (usage !== undefined) this.ending.usage = usage;
    const whole = isJsonObject(first) && isJsonObject(first['message']);
    const beside = unknownMembers('chunk', chunk, whole);
    if (beside !== undefined) this.chunkExtras = { ...this.chunkExtras, ...beside };
    if (!this.started && (choices.length > 0 || textOrEmpty(chunk['id']) !== '')) {
      this.started = true;
      const model = textOrEmpty(chunk['model']) || this.reading.model;
      out.push({ type: 'message_start', model, responseId: textOrEmpty(chunk['id']) });
    }
    for (const choice of choices) if (isJsonObject(choice)) this.readChoice(choice, beside, out);
  }

  /** The body has ended. `complete`: with `[DONE]`, or it was a whole answer. */
  end(complete: boolean, out: ModelEvent[]): void {
    if (this.over) return;
    const { provider } = this.reading;
    if (!complete && !this.finished) return this.fail(cutShort(provider), out);
    if (this.choices.length === 0) return this.fail(answeredNothing(provider), out);
    const ends: ModelEvent[] = [];
    for (const { index, finishReason, extras } of this.choices.sort((left, right) => left.index - right.index)) {
      const calls = index === 0 ? this.calls : undefined;
      const reason = mapOpenAiFinishReason(finishReason, calls !== undefined && calls.count > 0);
      if (reason === 'failed') {
        const message = `Model provider '${provider}' ended its answer early (${finishReason?.slice(0, 40)})`;
        return this.fail(new AppError('model_error', message), out);
      }
      // The stream ended without a finish reason, inside a call: it was cut.
      if (finishReason === undefined && calls?.broken === true) return this.fail(cutShort(provider), out);
      const cutOff = reason === 'length' || reason === 'content_filter';
      const ended = calls?.finish(cutOff, out) ?? [];
      ends.push({
        type: 'message_end',
        finishReason: reason,
        choice: index > 0 ? index : undefined,
        extras: extrasOf(this.chunkExtras, extras?.choice, extras?.delta),
        providerState: index === 0 ? this.state(ended) : undefined,
      });
    }
    this.ending.end(ends, out);
  }

  fail(error: AppError, out: ModelEvent[]): void {
    this.ending.fail(error, out);
  }

  private readChoice(choice: JsonObject, beside: JsonObject | undefined, out: ModelEvent[]): void {
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0;
    let state = this.choices.find((known) => known.index === index);
    if (state === undefined) {
      state = { index, finishReason: undefined, continued: false, extras: undefined };
      this.choices.push(state);
    }
    const whole = isJsonObject(choice['message']);
    const body = whole ? choice['message'] : choice['delta'];
    const delta = isJsonObject(body) ? body : {};
    const given = textOrEmpty(choice['finish_reason']);
    const finish = given === 'null' ? '' : given;
    if (state.finishReason !== undefined && hasContent(delta)) state.continued = true;
    if (finish !== '') state.finishReason = finish;

    const text = readContentText(delta['content']);
    const reasoning = readReasoning(delta);
    const numbered = index > 0 ? index : undefined;
    if (reasoning !== '') {
      if (this.reading.storeReasoning && index === 0) this.reasoning += reasoning;
      out.push({ type: 'reasoning_delta', text: reasoning, choice: numbered });
    }
    const choiceMembers = unknownMembers('choice', choice, whole);
    const deltaMembers = unknownMembers('delta', delta, whole);
    const kept = index === 0 ? keptMembers(deltaMembers) : undefined;
    // Members of a whole message are complete.
    if (kept !== undefined) this.kept = whole ? kept : mergeMembers(this.kept ?? {}, kept);
    if (finish !== '' || whole) {
      // Extras go out with `message_end`.
      state.extras = extrasOf(undefined, choiceMembers, deltaMembers) ?? state.extras;
      if (text !== '') out.push({ type: 'text_delta', text, choice: numbered, extras: undefined });
    } else if (text !== '' || choiceMembers !== undefined || deltaMembers !== undefined) {
      const extras = extrasOf(beside, choiceMembers, deltaMembers);
      out.push({ type: 'text_delta', text, choice: numbered, extras });
    }
    // Only the first choice can have calls: `n > 1` with tools is refused.
    if (index === 0) this.readCalls(delta, whole, out);
  }

  private readCalls(delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
    const entries = delta['tool_calls'];
    const older = delta['function_call'];
    if (Array.isArray(entries) && entries.length > 0) this.pushCalls(entries, whole, out);
    else if (isJsonObject(entries)) this.pushCalls([entries], whole, out);
    else if (isJsonObject(older)) this.pushCalls([{ index: 0, ...older }], whole, out);
  }

  private pushCalls(entries: unknown[], whole: boolean, out: ModelEvent[]): void {
    this.calls ??= new ToolCallMerger(this.reading.names.fromWire);
    this.calls.push(entries, whole, out);
  }

  private state(calls: StreamedCall[]): ProviderState | undefined {
    const state = toReplay(this.kept, calls);
    if (this.reasoning !== '') state['reasoning_content'] = this.reasoning;
    return Object.keys(state).length === 0 ? undefined : { provider: this.reading.provider, state };
  }
}

function hasContent({ content, tool_calls: calls }: JsonObject): boolean {
  return (content ?? '') !== '' || (Array.isArray(calls) && calls.length > 0);
}
