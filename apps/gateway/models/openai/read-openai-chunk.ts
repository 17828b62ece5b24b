// One answer of an OpenAI-compatible upstream, chunk by chunk, as model events. A whole answer is one chunk whose
// `message` is the delta. It knows no HTTP and never throws on what an upstream says.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { AnswerExtras, ModelEvent } from '#libs/schemas/model-event.js';
import type { ProviderState } from '#libs/schemas/message.js';
import { answeredNothing, AnswerEnding, cutShort } from '../wire/answer-ending.js';
import type { AnswerReader, Reading } from '../wire/wire-family.js';
import { mapFinishReason } from './map-finish-reason.js';
import { ToolCallMerger } from './merge-tool-calls.js';
import { extrasOf, readContent, readReasoning, readUsage, unknownMembers } from './read-openai-content.js';
import { readErrorMember } from './read-openai-error.js';

export interface AnswerReading extends Reading {
  /** What was asked for, shown when the answer names no model. */
  model: string;
  /** How many were asked for; default 1. */
  choices?: number;
  /** Reasoning is kept as provider state, to be replayed. */
  keepReasoning: boolean;
}

interface Choice {
  finishReason?: string;
  /** It went on after its finish reason: this upstream gives one with every chunk. */
  wentOn?: true;
  extras?: AnswerExtras;
}

export class OpenAiAnswerReader implements AnswerReader {
  private started = false;
  private readonly choices = new Map<number, Choice>();
  private readonly calls: ToolCallMerger;
  private readonly ending = new AnswerEnding();
  private chunkExtras?: JsonObject;
  private reasoning = '';

  constructor(private readonly reading: AnswerReading) {
    this.calls = new ToolCallMerger(reading.names.fromWire);
  }

  get over(): boolean {
    return this.ending.over;
  }

  /** No choice that was asked for is still to come, and a finish reason meant the end so far. */
  get settled(): boolean {
    if (!this.finished || this.choices.size < (this.reading.choices ?? 1)) return false;
    for (const choice of this.choices.values()) if (choice.wentOn) return false;
    return true;
  }

  /** Every choice that began has its finish reason. */
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
    if (!this.started && (choices.length > 0 || text(chunk['id']) !== '')) {
      this.started = true;
      const model = text(chunk['model']) || this.reading.model;
      out.push({ type: 'message_start', model, responseId: text(chunk['id']) });
    }
    for (const choice of choices) if (isJsonObject(choice)) this.readChoice(choice, beside, out);
  }

  /** The body is over. `complete`: the upstream said so itself (`[DONE]`, or a whole answer). */
  end(complete: boolean, out: ModelEvent[]): void {
    if (this.over) return;
    const { provider } = this.reading;
    if (!complete && !this.finished) return this.fail(cutShort(provider), out);
    if (this.choices.size === 0) return this.fail(answeredNothing(provider), out);
    const ends: ModelEvent[] = [];
    for (const [index, choice] of [...this.choices].sort(([left], [right]) => left - right)) {
      const reason = mapFinishReason(choice.finishReason, index === 0 && this.calls.count > 0);
      if (reason === 'failed') {
        const message = `Model provider '${provider}' broke off its answer (${choice.finishReason?.slice(0, 40)})`;
        return this.fail(new AppError('model_error', message), out);
      }
      // Over without a reason, and within a call: whoever ended it, the message was not.
      const cut = index === 0 && choice.finishReason === undefined && this.calls.broken;
      if (cut) return this.fail(cutShort(provider), out);
      if (index === 0) this.calls.finish(reason === 'length' || reason === 'content_filter', out);
      const extras = extrasOf({
        chunk: this.chunkExtras,
        choice: choice.extras?.choice,
        delta: choice.extras?.delta,
      });
      const state = index === 0 ? this.state() : undefined;
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
    const given = text(choice['finish_reason']);
    const finish = given === 'null' ? '' : given;
    if (state.finishReason !== undefined && saysSomething(delta)) state.wentOn = true;
    if (finish !== '') state.finishReason = finish;

    const content = readContent(delta['content']);
    const reasoning = readReasoning(delta) + content.reasoning;
    const numbered = index > 0 ? { choice: index } : undefined;
    if (reasoning !== '') {
      if (this.reading.keepReasoning && index === 0) this.reasoning += reasoning;
      out.push({ type: 'reasoning_delta', text: reasoning, ...numbered });
    }
    const choiceMembers = unknownMembers('choice', choice, whole);
    const deltaMembers = unknownMembers('delta', delta, whole);
    if (finish !== '' || whole) {
      // Told with the end, so that the last word on a choice is in one place.
      const extras = extrasOf({ chunk: undefined, choice: choiceMembers, delta: deltaMembers });
      if (extras !== undefined) state.extras = extras;
      if (content.text !== '') out.push({ type: 'text_delta', text: content.text, ...numbered });
    } else if (content.text !== '' || choiceMembers !== undefined || deltaMembers !== undefined) {
      const extras = extrasOf({ chunk: beside, choice: choiceMembers, delta: deltaMembers });
      out.push({ type: 'text_delta', text: content.text, ...numbered, ...(extras && { extras }) });
    }
    // Calls belong to the first choice: `n > 1` with tools is refused when the request is read.
    if (index === 0) this.readCalls(delta, whole, out);
  }

  private readCalls(delta: JsonObject, whole: boolean, out: ModelEvent[]): void {
    const entries = delta['tool_calls'];
    if (Array.isArray(entries) && entries.length > 0) this.calls.push(entries, whole, out);
    else if (isJsonObject(entries)) this.calls.push([entries], whole, out);
    else if (isJsonObject(delta['function_call']))
      this.calls.push([{ index: 0, ...delta['function_call'] }], whole, out);
  }

  private state(): ProviderState | undefined {
    if (!this.reading.keepReasoning || this.reasoning === '') return undefined;
    return { provider: this.reading.provider, state: { reasoning_content: this.reasoning } };
  }
}

const text = (value: Json | undefined) => (typeof value === 'string' ? value : '');

function saysSomething({ content, tool_calls: calls }: JsonObject): boolean {
  return (content ?? '') !== '' || (Array.isArray(calls) && calls.length > 0);
}
