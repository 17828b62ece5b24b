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
import { mapFinishReason } from './map-finish-reason.js';
import { ToolCallMerger } from './merge-tool-calls.js';
import { extrasOf, keptMembers, readContent, readReasoning, readUsage, unknownMembers } from './read-openai-content.js';
import { readErrorMember } from './read-openai-error.js';
import { toReplay } from './compatible/replayed-members.js';

export interface AnswerReading extends Reading {
  /** The requested model, used if the answer names none. */
  model: string;
  /** `n` of the request; default 1. */
  choices?: number;
  /** Whether reasoning becomes provider state, to be replayed. */
  storeReasoning: boolean;
}

interface Choice {
  finishReason?: string;
  /** It continued after its finish reason: some upstreams send one with every chunk. */
  continued?: true;
  extras?: AnswerExtras;
}

export class OpenAiAnswerReader implements AnswerReader {
  private started = false;
  private readonly choices = new Map<number, Choice>();
  private readonly calls: ToolCallMerger;
  private readonly ending = new AnswerEnding();
  private chunkExtras?: JsonObject;
  private reasoning = '';
  /** Members of the message, joined, for the provider to get back. */
  private kept?: JsonObject;

  constructor(private readonly reading: AnswerReading) {
    this.calls = new ToolCallMerger(reading.names.fromWire);
  }

  get over(): boolean {
    return this.ending.over;
  }

  /** All requested choices have ended, and no choice continued after a finish reason. */
  get settled(): boolean {
    if (!this.finished || this.choices.size < (this.reading.choices ?? 1)) return false;
    for (const choice of this.choices.values()) if (choice.continued) return false;
    return true;
  }

  /** Every choice so far has a finish reason. */
  private get finished(): boolean {
    if (this.choices.size === 0) return false;
    for (const choice of this.choices.values()) if (choice.finishReason === undefined) return false;
    return true;
  }

  read(chunk: JsonObject, out: ModelEvent[]): void {
    const error = readErrorMember(chunk);
    if (error !== undefined) return this.fail(this.reading.errors.inAnswer(error), out);
    const choices = Array.isArray(chunk['choices']) ? chunk['choices'] : [];
    const first = choices[0];
    const usage = readUsage(chunk, isJsonObject(first) ? first : undefined);
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
    if (this.choices.size === 0) return this.fail(answeredNothing(provider), out);
    const ends: ModelEvent[] = [];
    for (const [index, choice] of [...this.choices].sort(([left], [right]) => left - right)) {
      const reason = mapFinishReason(choice.finishReason, index === 0 && this.calls.count > 0);
      if (reason === 'failed') {
        const message = `Model provider '${provider}' ended its answer early (${choice.finishReason?.slice(0, 40)})`;
        return this.fail(new AppError('model_error', message), out);
      }
      // The stream ended without a finish reason, inside a call: it was cut.
      const cut = index === 0 && choice.finishReason === undefined && this.calls.broken;
      if (cut) return this.fail(cutShort(provider), out);
      const cutOff = reason === 'length' || reason === 'content_filter';
      const state = index === 0 ? this.state(this.calls.finish(cutOff, out)) : undefined;
      const extras = extrasOf({
        chunk: this.chunkExtras,
        choice: choice.extras?.choice,
        delta: choice.extras?.delta,
      });
      ends.push({
        type: 'message_end',
        finishReason: reason,
        ...(index > 0 && { choice: index }),
        ...(extras && { extras }),
        ...(state && { providerState: state }),
      });
    }
    this.ending.end(ends, out);
  }

  fail(error: AppError, out: ModelEvent[]): void {
    this.ending.fail(error, out);
  }

  private readChoice(choice: JsonObject, beside: JsonObject | undefined, out: ModelEvent[]): void {
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0;
    let state = this.choices.get(index);
    if (state === undefined) this.choices.set(index, (state = {}));
    const whole = isJsonObject(choice['message']);
    const body = whole ? choice['message'] : choice['delta'];
    const delta = isJsonObject(body) ? body : {};
    const given = textOrEmpty(choice['finish_reason']);
    const finish = given === 'null' ? '' : given;
    if (state.finishReason !== undefined && hasContent(delta)) state.continued = true;
    if (finish !== '') state.finishReason = finish;

    const content = readContent(delta['content']);
    const reasoning = readReasoning(delta) + content.reasoning;
    const numbered = index > 0 ? { choice: index } : undefined;
    if (reasoning !== '') {
      if (this.reading.storeReasoning && index === 0) this.reasoning += reasoning;
      out.push({ type: 'reasoning_delta', text: reasoning, ...numbered });
    }
    const choiceMembers = unknownMembers('choice', choice, whole);
    const deltaMembers = unknownMembers('delta', delta, whole);
    const kept = index === 0 ? keptMembers(deltaMembers) : undefined;
    // Those of a whole message are complete as they are.
    if (kept !== undefined) this.kept = whole ? kept : mergeMembers(this.kept ?? {}, kept);
    if (finish !== '' || whole) {
      // These go out with `message_end`.
      const extras = extrasOf({ chunk: undefined, choice: choiceMembers, delta: deltaMembers });
      if (extras !== undefined) state.extras = extras;
      if (content.text !== '') out.push({ type: 'text_delta', text: content.text, ...numbered });
    } else if (content.text !== '' || choiceMembers !== undefined || deltaMembers !== undefined) {
      const extras = extrasOf({ chunk: beside, choice: choiceMembers, delta: deltaMembers });
      out.push({ type: 'text_delta', text: content.text, ...numbered, ...(extras && { extras }) });
    }
    // Only the first choice can have calls: `n > 1` with tools is refused.
    if (index === 0) this.readCalls(delta, whole, out);
  }

  private readCalls(delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
    const entries = delta['tool_calls'];
    if (Array.isArray(entries) && entries.length > 0) this.calls.push(entries, whole, out);
    else if (isJsonObject(entries)) this.calls.push([entries], whole, out);
    else if (isJsonObject(delta['function_call']))
      this.calls.push([{ index: 0, ...delta['function_call'] }], whole, out);
  }

  private state(calls: StreamedCall[]): ProviderState | undefined {
    const state = {
      ...toReplay(this.kept, calls),
      ...(this.reasoning !== '' && { reasoning_content: this.reasoning }),
    };
    return Object.keys(state).length === 0 ? undefined : { provider: this.reading.provider, state };
  }
}

function hasContent({ content, tool_calls: calls }: JsonObject): boolean {
  return (content ?? '') !== '' || (Array.isArray(calls) && calls.length > 0);
}
