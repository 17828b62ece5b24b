// Translates one Anthropic answer to model events. A whole answer is one event of type `message`. A message that starts
// again is read from its start; one that pauses is continued by a second request. Knows no HTTP and never throws.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { addUsage, noUsage, type Usage } from '#libs/schemas/usage.js';
import { answeredNothing, AnswerEnding, cutShort } from '../wire/answer-ending.js';
import { StreamedCalls } from '../conversation/streamed-calls.js';
import type { AnswerReader, Reading } from '../wire/wire-family.js';
import { mapStopReason } from './map-stop-reason.js';
import { MessageBlocks } from './message-blocks.js';
import { readAnthropicError } from './read-anthropic-error.js';
import { RepeatFilter } from './repeat-filter.js';
import { laterUsage, readAnthropicUsage } from './read-anthropic-usage.js';

export interface AnthropicReading extends Reading {
  /** The requested model, used if the answer names none. */
  model: string;
  /** Writes the request that continues a paused message after `content`. */
  continuation: (content: JsonObject[]) => string;
}

const mostPauses = 16;

export class AnthropicAnswerReader implements AnswerReader {
  readonly settled = false;
  private readonly ending = new AnswerEnding();
  private calls: StreamedCalls;
  private blocks: MessageBlocks;
  private started = false;
  private messageId?: Json | undefined;
  /** A second start of the same message, which only counts if the blocks start again too. */
  private secondStart?: JsonObject;
  private readonly repeats = new RepeatFilter();
  private stopReason = '';
  private refusal?: string;
  private usage: JsonObject = {};
  /** The parts before the last pause. */
  private earlier: { content: JsonObject[]; usage: Usage; pauses: number } = {
    content: [],
    usage: noUsage,
    pauses: 0,
  };
  private paused = false;

  constructor(private readonly reading: AnthropicReading) {
    this.calls = new StreamedCalls(reading.names.fromWire);
    this.blocks = new MessageBlocks(this.calls);
  }

  get over(): boolean {
    return this.paused || this.ending.over;
  }

  read(event: JsonObject, out: ModelEvent[]): void {
    const events: ModelEvent[] = [];
    this.readEvent(event, events);
    this.repeats.pass(events, out);
  }

  end(complete: boolean, out: ModelEvent[]): void {
    const events: ModelEvent[] = [];
    this.endMessage(complete, events);
    this.repeats.pass(events, out);
  }

  fail(error: AppError, out: ModelEvent[]): void {
    this.ending.fail(error, out);
  }

  again(): string | undefined {
    if (!this.paused) return undefined;
    this.paused = false;
    return this.reading.continuation(this.earlier.content);
  }

  private readEvent(event: JsonObject, out: ModelEvent[]): void {
    const index = typeof event['index'] === 'number' ? event['index'] : 0;
    switch (event['type']) {
      case 'message_start':
        return this.start(event['message'], out);
      case 'content_block_start':
        if (this.secondStart !== undefined && this.blocks.has(index)) this.begin(this.secondStart, out);
        return this.blocks.start(index, event['content_block'], out);
      case 'content_block_delta':
        if (!this.blocks.delta(index, event['delta'], out)) this.refuse('sent part of a call that never began', out);
        return;
      case 'content_block_stop':
        return this.blocks.stop(index, out);
      case 'message_delta':
        this.readStop(event['delta']);
        return this.count(event['usage']);
      case 'message_stop':
        return this.endMessage(true, out);
      case 'message':
        return this.start(event, out);
      default: {
        const error = readAnthropicError(event);
        if (error !== undefined) this.fail(this.reading.errors.inAnswer(error), out);
      }
    }
  }

  private endMessage(complete: boolean, out: ModelEvent[]): void {
    if (this.over) return;
    const { provider } = this.reading;
    if (!complete) return this.fail(cutShort(provider), out);
    if (!this.started) return this.fail(answeredNothing(provider), out);
    this.blocks.stopAll(out);
    if (this.stopReason === 'pause_turn') return this.pause(out);
    // The stream ended without a stop reason, inside a call: it was cut.
    if (this.stopReason === '' && this.calls.broken) return this.fail(cutShort(provider), out);
    const reason = mapStopReason(this.stopReason, this.calls.list.length > 0);
    const ended = this.calls.finish(reason === 'length' || reason === 'content_filter', out);
    const content = this.contentToStore(ended);
    const end: ModelEvent = {
      type: 'message_end',
      finishReason: reason,
      ...(this.refusal !== undefined && { extras: { delta: { refusal: this.refusal } } }),
      ...(content !== undefined && { providerState: { provider, state: { content } } }),
    };
    this.ending.end([end], out);
  }

  private start(given: Json | undefined, out: ModelEvent[]): void {
    const message = isJsonObject(given) ? given : {};
    const continues = this.earlier.pauses > 0;
    if (continues && this.started) return this.refuse('started the rest of its answer twice', out);
    const isSame = this.started && message['id'] !== undefined && message['id'] === this.messageId;
    if (isSame) this.secondStart = message;
    else this.begin(message, out);
  }

  private begin(message: JsonObject, out: ModelEvent[]): void {
    const continues = this.earlier.pauses > 0;
    if (!continues) this.calls = new StreamedCalls(this.reading.names.fromWire);
    delete this.secondStart;
    this.messageId = message['id'];
    this.blocks = new MessageBlocks(this.calls);
    this.started = true;
    this.stopReason = '';
    this.usage = {};
    this.count(message['usage']);
    const model = textOrEmpty(message['model']) || this.reading.model;
    if (!continues) out.push({ type: 'message_start', model, responseId: textOrEmpty(message['id']) });
    // Everything in a whole answer. A stream may already have calls here.
    const content = Array.isArray(message['content']) ? message['content'] : [];
    content.forEach((block, index) => {
      this.blocks.start(index, block, out);
      this.blocks.stop(index, out);
    });
    this.readStop(message);
  }

  private readStop(given: Json | undefined): void {
    if (!isJsonObject(given)) return;
    if (typeof given['stop_reason'] === 'string') this.stopReason = given['stop_reason'];
    const details = given['stop_details'];
    if (isJsonObject(details) && typeof details['explanation'] === 'string') this.refusal = details['explanation'];
  }

  private count(usage: Json | undefined): void {
    this.usage = laterUsage(this.usage, usage);
    if (Object.keys(this.usage).length > 0)
      this.ending.usage = addUsage(this.earlier.usage, readAnthropicUsage(this.usage));
  }

  private refuse(what: string, out: ModelEvent[]): void {
    this.fail(new AppError('model_bad_response', `Model provider '${this.reading.provider}' ${what}`), out);
  }

  private pause(out: ModelEvent[]): void {
    const { content, pauses } = this.earlier;
    if (pauses >= mostPauses) return this.refuse(`paused its answer more than ${mostPauses} times`, out);
    this.earlier = {
      content: [...content, ...this.blocks.raw],
      usage: this.ending.usage ?? noUsage,
      pauses: pauses + 1,
    };
    this.started = false;
    this.paused = true;
  }

  private contentToStore(ended: ReturnType<StreamedCalls['finish']>): JsonObject[] | undefined {
    const last = this.blocks.replayed(ended);
    if (this.earlier.content.length === 0) return last;
    return [...this.earlier.content, ...(last ?? this.blocks.raw.filter(({ type }) => type === 'text'))];
  }
}
