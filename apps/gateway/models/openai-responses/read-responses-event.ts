// Translates one answer of OpenAI's Responses API to model events. A whole answer is one response object. Knows no HTTP,
// ignores events that it does not know, and never throws.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { FinishReason, ModelEvent } from '#libs/schemas/model-event.js';
import { reasonWithCalls } from '../conversation/reason-with-calls.js';
import { StreamedCalls } from '../conversation/streamed-calls.js';
import { readErrorMember } from '../openai/read-openai-error.js';
import { answeredNothing, AnswerEnding, cutShort } from '../wire/answer-ending.js';
import type { AnswerReader, Reading } from '../wire/wire-family.js';
import { OutputItems } from './output-items.js';
import { readResponsesUsage } from './read-responses-usage.js';

export interface ResponsesReading extends Reading {
  /** The requested model, used if the answer names none. */
  model: string;
  /** The function that the API's own tool search stands for in this request. */
  search?: string | undefined;
}

export class ResponsesAnswerReader implements AnswerReader {
  readonly settled = false;
  private readonly ending = new AnswerEnding();
  private readonly calls: StreamedCalls;
  private readonly items: OutputItems;
  private started = false;

  constructor(private readonly reading: ResponsesReading) {
    this.calls = new StreamedCalls(reading.names.fromWire);
    this.items = new OutputItems(this.calls, reading.search);
  }

  get over(): boolean {
    return this.ending.over;
  }

  read(event: JsonObject, out: ModelEvent[]): void {
    const type = textOrEmpty(event['type']);
    const error = type === '' || type === 'error' ? readErrorMember(event) : undefined;
    if (error !== undefined) return this.fail(this.reading.errors.inAnswer(error), out);
    const isWhole = event['object'] === 'response' || (type === '' && Array.isArray(event['output']));
    if (isWhole) return this.finish(event, textOrEmpty(event['status']), out);
    if (!type.startsWith('response.')) return;
    this.start(event['response'], out);
    switch (type) {
      case 'response.output_item.added':
        return this.items.start(event, out);
      case 'response.output_item.done':
        return this.items.end(event, out);
      case 'response.output_text.delta':
        return this.items.text('text_delta', event, out);
      case 'response.refusal.delta':
        return this.items.text('refusal', event, out);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.items.text('reasoning_delta', event, out);
      case 'response.function_call_arguments.delta':
        return this.items.arguments(event, out);
      case 'response.function_call_arguments.done':
        return this.items.wholeArguments(event, out);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.finish(event['response'], type.slice('response.'.length), out);
      default:
    }
  }

  /** Only the response itself says that it is complete; the end of the body does not. */
  end(_complete: boolean, out: ModelEvent[]): void {
    if (this.over) return;
    const { provider } = this.reading;
    this.fail(this.started ? cutShort(provider) : answeredNothing(provider), out);
  }

  fail(error: AppError, out: ModelEvent[]): void {
    this.ending.fail(error, out);
  }

  private start(given: Json | undefined, out: ModelEvent[]): void {
    if (this.started) return;
    this.started = true;
    const response = isJsonObject(given) ? given : {};
    const model = textOrEmpty(response['model']) || this.reading.model;
    out.push({ type: 'message_start', model, responseId: textOrEmpty(response['id']) });
  }

  private finish(given: Json | undefined, status: string, out: ModelEvent[]): void {
    const response = isJsonObject(given) ? given : {};
    this.start(response, out);
    const usage = readResponsesUsage(response['usage']);
    if (usage !== undefined) this.ending.usage = usage;
    const { provider, errors } = this.reading;
    const error = status === 'failed' ? readErrorMember({ error: response['error'] ?? null }) : undefined;
    if (error !== undefined) return this.fail(errors.inAnswer(error), out);
    if (!['', 'completed', 'incomplete'].includes(status)) {
      const message = `Model provider '${provider}' ended its answer early (${status.slice(0, 40)})`;
      return this.fail(new AppError('model_error', message), out);
    }
    this.items.complete(response['output'], out);
    const reason = status === 'incomplete' ? whyIncomplete(response['incomplete_details']) : this.whyComplete();
    const ended = this.calls.finish(status === 'incomplete', out);
    const output = this.items.stored(ended);
    const tier = response['service_tier'];
    const end: ModelEvent = {
      type: 'message_end',
      finishReason: reason,
      ...(typeof tier === 'string' && { extras: { chunk: { service_tier: tier } } }),
      ...(output !== undefined && { providerState: { provider, state: { output } } }),
    };
    this.ending.end([end], out);
  }

  private whyComplete(): FinishReason {
    return this.items.refused ? 'content_filter' : reasonWithCalls('stop', this.calls.list.length > 0);
  }
}

/** `max_output_tokens`, `content_filter`, and later reasons, of which none is a complete answer. */
function whyIncomplete(details: Json | undefined): FinishReason {
  return isJsonObject(details) && details['reason'] === 'content_filter' ? 'content_filter' : 'length';
}
