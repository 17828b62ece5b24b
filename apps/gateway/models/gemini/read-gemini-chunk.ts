// Translates one Gemini answer to model events; a whole answer is one chunk. A malformed message is requested once more if
// nothing of it was sent. Knows no HTTP and never throws.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { answeredNothing, AnswerEnding, cutShort } from '../wire/answer-ending.js';
import type { AnswerReader, Reading } from '../wire/wire-family.js';
import { GeminiCalls } from './gemini-calls.js';
import { StoredParts } from './stored-parts.js';
import { mapGeminiFinishReason } from './map-gemini-finish-reason.js';
import { readGeminiError } from './read-gemini-error.js';
import { readGeminiUsage } from './read-gemini-usage.js';

export interface GeminiReading extends Reading {
  /** The requested model, used if the answer names none. */
  model: string;
  /** The request, for a second attempt. */
  body: string;
}

interface Candidate {
  finishReason?: string;
  /** The choice continued after its finish reason: some upstreams send one with every chunk. */
  continued?: true;
  message?: string;
}

export class GeminiAnswerReader implements AnswerReader {
  private readonly ending = new AnswerEnding();
  private readonly candidates = new Map<number, Candidate>();
  private calls: GeminiCalls;
  private stored = new StoredParts();
  private started = false;
  private blocked = false;
  /** Text or a call was sent. */
  private sent = false;
  private attempts = 1;
  private malformed = false;

  constructor(private readonly reading: GeminiReading) {
    this.calls = new GeminiCalls(reading.names.fromWire);
  }

  get over(): boolean {
    return this.malformed || this.ending.over;
  }

  private get finished(): boolean {
    if (this.blocked) return true;
    if (this.candidates.size === 0) return false;
    for (const { finishReason } of this.candidates.values()) if (finishReason === undefined) return false;
    return true;
  }

  get settled(): boolean {
    if (!this.finished) return false;
    for (const { continued } of this.candidates.values()) if (continued) return false;
    return true;
  }

  read(chunk: JsonObject, out: ModelEvent[]): void {
    const error = readGeminiError(chunk);
    if (error !== undefined) return this.fail(this.reading.errors.inAnswer(error), out);
    const usage = readGeminiUsage(chunk['usageMetadata']);
    if (usage !== undefined) this.ending.usage = usage;
    const candidates = Array.isArray(chunk['candidates']) ? chunk['candidates'] : [];
    const feedback = chunk['promptFeedback'];
    this.blocked ||= isJsonObject(feedback) && typeof feedback['blockReason'] === 'string' && candidates.length === 0;
    if (!this.started && (candidates.length > 0 || this.blocked)) {
      this.started = true;
      const model = textOrEmpty(chunk['modelVersion']) || this.reading.model;
      out.push({ type: 'message_start', model, responseId: textOrEmpty(chunk['responseId']) });
    }
    for (const candidate of candidates) {
      if (isJsonObject(candidate) && !this.over) this.readCandidate(candidate, out);
    }
  }

  end(complete: boolean, out: ModelEvent[]): void {
    if (this.over) return;
    const { provider } = this.reading;
    if (!complete && !this.finished) return this.fail(cutShort(provider), out);
    if (this.blocked) return this.ending.end([{ type: 'message_end', finishReason: 'content_filter' }], out);
    if (this.candidates.size === 0) return this.fail(answeredNothing(provider), out);
    const ends: ModelEvent[] = [];
    for (const [index, candidate] of [...this.candidates].sort(([left], [right]) => left - right)) {
      const reason = mapGeminiFinishReason(candidate.finishReason, index === 0 && this.calls.count > 0);
      if (reason === 'malformed') return this.endMalformed(candidate, out);
      const first = index === 0;
      const cut = reason === 'length' || reason === 'content_filter';
      if (first && !cut && this.calls.isInString) return this.refuse('ended its answer in the middle of a call', out);
      const ended = first ? this.calls.finish(cut, out) : [];
      const parts = first && ended.length > 0 ? this.stored.replayed(ended) : undefined;
      ends.push({
        type: 'message_end',
        finishReason: reason,
        ...(!first && { choice: index }),
        ...(parts && { providerState: { provider, state: { parts } } }),
      });
    }
    this.ending.end(ends, out);
  }

  fail(error: AppError, out: ModelEvent[]): void {
    this.ending.fail(error, out);
  }

  again(): string | undefined {
    if (!this.malformed) return undefined;
    this.malformed = false;
    this.attempts += 1;
    this.candidates.clear();
    this.calls = new GeminiCalls(this.reading.names.fromWire);
    this.stored = new StoredParts();
    return this.reading.body;
  }

  private readCandidate(candidate: JsonObject, out: ModelEvent[]): void {
    const index = typeof candidate['index'] === 'number' ? candidate['index'] : 0;
    let known = this.candidates.get(index);
    if (known === undefined) this.candidates.set(index, (known = {}));
    const content = candidate['content'];
    const parts = isJsonObject(content) && Array.isArray(content['parts']) ? content['parts'].filter(isJsonObject) : [];
    if (known.finishReason !== undefined && !parts.every(isEmpty)) known.continued = true;
    const finish = textOrEmpty(candidate['finishReason']);
    if (finish !== '' && finish !== 'FINISH_REASON_UNSPECIFIED') known.finishReason = finish;
    const message = textOrEmpty(candidate['finishMessage']);
    if (message !== '') known.message = message;
    for (const part of parts) if (!this.over) this.readPart(part, index, out);
  }

  private readPart(part: JsonObject, index: number, out: ModelEvent[]): void {
    const call = part['functionCall'];
    if (isJsonObject(call)) {
      // Only the first choice can have calls: `n > 1` with tools is refused.
      if (index > 0) return;
      this.sent = true;
      const found = this.calls.read(call, part['thoughtSignature'], out);
      if (found === 'stray') return this.refuse('sent part of a call that never began', out);
      if (found !== undefined) this.stored.addCall(found, part);
      return;
    }
    if (index === 0 && !isEmpty(part)) this.stored.add(part);
    const text = textOrEmpty(part['text']);
    if (text === '') return;
    const numbered = index > 0 ? { choice: index } : undefined;
    if (part['thought'] === true) return void out.push({ type: 'reasoning_delta', text, ...numbered });
    this.sent = true;
    out.push({ type: 'text_delta', text, ...numbered });
  }

  private refuse(what: string, out: ModelEvent[]): void {
    this.fail(new AppError('model_bad_response', `Model provider '${this.reading.provider}' ${what}`), out);
  }

  private endMalformed({ finishReason, message }: Candidate, out: ModelEvent[]): void {
    if (this.attempts === 1 && !this.sent) {
      this.malformed = true;
      return;
    }
    const words = `ended its answer early (${finishReason})${message === undefined ? '' : `: ${message}`}`;
    this.fail(this.reading.errors.inAnswer({ message: words, code: '' }), out);
  }
}

const isEmpty = (part: JsonObject) => part['text'] === '' && part['thoughtSignature'] === undefined;
