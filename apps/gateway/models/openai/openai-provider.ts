// A provider that speaks OpenAI's chat completions: one request out, one answer in. The quirks are in the files beside it.
import type { ProviderConfig } from '#libs/config/schema.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { AttemptObserver } from '../model-attempt.js';
import type { ModelCall, ModelProvider, ModelRequest } from '../model-provider.js';
import { openWithRetries, type UpstreamFailure } from '../open-with-retries.js';
import { Transport, type UpstreamAnswer } from '../transport.js';
import { readOpenAiAnswer } from './read-openai-answer.js';
import { createErrorReader, type ErrorReader } from './read-openai-error.js';
import { toOpenAiRequest } from './to-openai-request.js';

const errorBodyBytes = 64 * 1024;
const listedModels = 10_000;

export class OpenAiProvider implements ModelProvider {
  private readonly transport: Transport;
  private readonly errors: ErrorReader;

  constructor(
    readonly name: string,
    private readonly config: ProviderConfig,
    private readonly onAttempt: AttemptObserver = () => undefined,
  ) {
    const { api_key, headers } = config;
    this.transport = new Transport({
      provider: name,
      baseUrl: config.base_url ?? 'https://api.openai.com/v1',
      headers: {
        accept: 'text/event-stream, application/json',
        'content-type': 'application/json',
        ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }),
        ...lowerCased(headers),
      },
      timeoutMs: config.timeout_ms,
      maxConcurrency: config.max_concurrency,
      maxResponseBytes: config.max_response_bytes,
    });
    const secrets = [api_key, ...Object.values(headers)].filter((text) => text !== undefined && text.length >= 6);
    this.errors = createErrorReader(name, secrets as string[]);
  }

  async *call(request: ModelRequest, call: ModelCall): AsyncGenerator<ModelEvent> {
    let answer: UpstreamAnswer | undefined;
    let complete = false;
    try {
      const { body, names } = this.write(request);
      answer = await this.open(body, request.model, call);
      const reading = {
        provider: this.name,
        model: request.model,
        toolNameOf: names.fromWire,
        errors: this.errors,
        ...(typeof request.parameters['n'] === 'number' && { choices: request.parameters['n'] }),
        keepReasoning: this.config.reasoning_replay !== 'never',
      };
      for await (const batch of readOpenAiAnswer(answer, reading, { maxEventChars: this.config.max_response_bytes })) {
        complete = batch.at(-1)?.type === 'message_end';
        for (const event of batch) yield event;
      }
    } catch (error) {
      yield { type: 'error', error: toAppError(error) };
    } finally {
      answer?.close(complete);
    }
  }

  async listModels(signal: AbortSignal): Promise<string[]> {
    const answer = await this.transport.open(
      { method: 'GET', path: '/models' },
      { signal, deadline: Date.now() + this.config.timeout_ms.first_byte },
    );
    try {
      if (answer.status === 404 || answer.status === 405) return [];
      const body = parse(await readText(answer, this.config.max_response_bytes));
      if (answer.status !== 200 || !isJsonObject(body)) {
        throw new AppError('model_error', `Model provider '${this.name}' did not list its models (${answer.status})`);
      }
      const listed = Array.isArray(body['data']) ? body['data'] : [];
      return listed
        .flatMap((entry) => (isJsonObject(entry) && typeof entry['id'] === 'string' ? [entry['id']] : []))
        .slice(0, listedModels);
    } finally {
      answer.close(true);
    }
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  private write(request: ModelRequest) {
    return toOpenAiRequest(request, {
      provider: this.name,
      reasoningReplay: this.config.reasoning_replay,
      callIds: this.config.call_ids,
    });
  }

  private open(body: string, model: string, call: ModelCall): Promise<UpstreamAnswer> {
    const headers: Record<string, string> = call.traceparent === undefined ? {} : { traceparent: call.traceparent };
    const request = { method: 'POST', path: '/chat/completions', body, headers } as const;
    return openWithRetries(this.transport, request, call, {
      maxRetries: this.config.max_retries,
      toError: (answer) => this.toError(answer),
      onRetry: (attempt, error, waitMs) =>
        this.onAttempt({
          provider: this.name,
          model,
          requestId: call.requestId,
          attempt,
          error,
          next: 'retry',
          waitMs,
        }),
    });
  }

  private async toError(answer: UpstreamAnswer): Promise<UpstreamFailure> {
    // What was said counts even when the rest of it was cut or is too long.
    const body = await readText(answer, errorBodyBytes).catch(() => '');
    answer.close(true);
    return this.errors.ofStatus(answer.status, answer.headers, body);
  }
}

/** The first `maxBytes` of a body. */
async function readText(answer: UpstreamAnswer, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let bytes = await answer.read(); bytes !== undefined && size < maxBytes; bytes = await answer.read()) {
    pieces.push(bytes);
    size += bytes.length;
  }
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes);
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const lowerCased = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
