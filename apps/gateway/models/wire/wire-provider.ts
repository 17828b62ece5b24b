// A provider over HTTP, of any family: one request, one answer, retries before the first byte, and model lists. The family
// interprets the bytes; nothing here is vendor-specific.
import type { CircuitBreaker } from '#libs/concurrency/circuit-breaker.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { ProviderConfig } from '#libs/config/schema.js';
import type { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpAnswer, HttpCall } from '#libs/http-client/outgoing.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject, parseJson } from '#libs/schemas/json.js';
import { retried, retryEvent } from '#libs/tracing/spans.js';
import { exceedsWindow, isTooLong } from '../resilience/context-window.js';
import { type CircuitParts, GuardedCall, isNotAsked, openCircuit } from '../resilience/guarded-call.js';
import type { AttemptObserver, ModelAttempt } from '../routing/model-attempt.js';
import type { ModelCall, ModelProvider, ModelRequest, TakeModelEvents } from '../model-provider.js';
import { openWithRetries, type RetryPolicy, type UpstreamFailure } from '../resilience/open-with-retries.js';
import { type AnswerBounds, readAnswer } from './read-answer.js';
import { createErrorReader, type ErrorReader } from './read-upstream-error.js';
import { type MappedRequest, mapProperties } from '../conversation/property-names.js';
import { providerToolsOf } from '../conversation/provider-tools.js';
import { mapToolNames, namesIn } from '../conversation/tool-names.js';
import { Warnings } from '../conversation/warnings.js';
import { withOwnPropertyNames } from './own-property-names.js';
import { keyRefused, listNotRead, listTooLate, providerAccess, type ProviderAccess } from './provider-failures.js';
import { openUpstream, reachUpstream } from './upstream.js';

import type { WireFamily, WireRequest, Writing } from './wire-family.js';

const errorBodyBytes = 64 * 1024;
const countBytes = 64 * 1024;
const listedModels = 10_000;
const listedPages = 10;
const listMs = 3_000;
/** OpenAI's own limit, also used for the others. */
const maxTools = 128;

export interface WireParts extends CircuitParts {
  onAttempt?: AttemptObserver;
}

export class WireProvider implements ModelProvider {
  private readonly access: ProviderAccess;
  private readonly client: HttpClient;
  private readonly errors: ErrorReader;
  private readonly circuit: CircuitBreaker;
  private readonly retries: RetryPolicy;
  private readonly bounds: AnswerBounds;
  /** The message of the last failure that the circuit breaker counted. */
  private lastFailure = '';

  constructor(
    readonly name: string,
    private readonly config: ProviderConfig,
    private readonly family: WireFamily,
    private readonly parts: WireParts,
  ) {
    const { api_key, headers } = config;
    this.bounds = { provider: name, maxEventChars: config.max_response_bytes };
    this.circuit = openCircuit(name, config.circuit, parts);
    const sent = {
      accept: 'text/event-stream, application/json',
      'content-type': 'application/json',
      ...family.headers(api_key),
      ...lowerCased(headers),
    };
    const baseUrl = config.base_url ?? family.baseUrl;
    this.access = providerAccess(name, config, baseUrl);
    this.client = openUpstream(this.access, { baseUrl, headers: sent }, config);
    this.retries = {
      client: this.client,
      maxRetries: config.max_retries,
      mayRetry: () => this.circuit.mayRetry(),
      toError: (answer) => this.toError(answer),
    };
    const secrets = [api_key, ...Object.values(headers)].filter((text) => text !== undefined && text.length >= 6);
    this.errors = createErrorReader({
      provider: name,
      secrets: secrets as string[],
      keyRefused: (status, words) => keyRefused(this.access, status, words),
      readError: (body) => family.readError(body),
    });
  }

  async call(request: ModelRequest, call: ModelCall, take: TakeModelEvents): Promise<void> {
    const { context_window: window } = this.config;
    if (window !== undefined && isTooLong(request, window)) {
      await take([{ type: 'error', error: exceedsWindow(this.name, window) }]);
      return;
    }
    const waitSeconds = this.circuit.enter();
    if (waitSeconds > 0) {
      await take([{ type: 'error', error: isNotAsked(this.name, waitSeconds, this.lastFailure) }]);
      return;
    }
    const mapped = this.mapped(request);
    const guarded = new GuardedCall(this.circuit, call, withOwnPropertyNames(mapped.tools, take));
    let answer: HttpAnswer | undefined;
    try {
      const warnings = new Warnings();
      let wire = this.write(mapped.request, warnings);
      for (let body: string | undefined = wire.body; body !== undefined; body = wire.reader.again?.()) {
        answer?.close(true);
        answer = undefined;
        guarded.complete = false;
        try {
          answer = await this.open(wire.path, body, request.model, call);
        } catch (error) {
          const other = wire.instead?.(toAppError(error));
          if (other === undefined) throw error;
          wire = other;
          answer = await this.open(wire.path, wire.body, request.model, call);
        }
        await readAnswer(answer, wire.reader, this.bounds, warnings.addTo(guarded.take));
      }
    } catch (error) {
      await guarded.take([{ type: 'error', error: toAppError(error) }]);
    } finally {
      answer?.close(guarded.complete);
      guarded.end();
      if (guarded.failure !== undefined) this.lastFailure = guarded.failure.message;
    }
  }

  async countTokens(request: ModelRequest, call: ModelCall): Promise<number> {
    if (this.family.toCount === undefined) throw countsNone(this.name);
    const warnings = new Warnings();
    const { request: mapped } = this.mapped(request);
    const count = this.family.toCount(this.served(mapped, warnings), this.writing(request, warnings));
    const answer = await this.open(count.path, count.body, request.model, call);
    try {
      const body = parseJson(await readText(answer, countBytes));
      const tokens = isJsonObject(body) ? body[count.answer] : undefined;
      if (typeof tokens === 'number' && tokens >= 0) return tokens;
      throw new AppError('model_bad_response', `Model provider '${this.name}' did not return the number of tokens`);
    } finally {
      answer.close(true);
    }
  }

  async listModels(signal: AbortSignal): Promise<string[]> {
    if (this.config.models !== undefined) {
      await reachUpstream(this.access, signal);
      return this.config.models;
    }
    const models: string[] = [];
    let path: string | undefined = this.family.modelsPath;
    const deadline = steadyNow() + listMs;
    try {
      for (let page = 0; path !== undefined && page < listedPages && models.length < listedModels; page += 1) {
        const listed = await this.listPage(path, { signal, deadline });
        models.push(...listed.models);
        path = listed.nextPath;
      }
    } catch (error) {
      if (toAppError(error).code !== 'model_timeout') throw error;
      throw new AppError('model_timeout', listTooLate(this.access, listMs), { cause: error });
    }
    return models.slice(0, listedModels);
  }

  close(): Promise<void> {
    return this.client.close();
  }

  private write(request: ModelRequest, warnings: Warnings): WireRequest {
    const { tools } = request;
    if (tools.length > maxTools) {
      const message = `${tools.length} tools are offered, but the model accepts at most ${maxTools}`;
      throw new AppError('too_many_tools', message, { param: 'tools' });
    }
    return this.family.toRequest(this.served(request, warnings), this.writing(request, warnings));
  }

  /** The request without tools that only other providers have. */
  private served(request: ModelRequest, warnings: Warnings): ModelRequest {
    if (request.providerTools === undefined) return request;
    const api = this.family.toolsOf?.(request);
    return { ...request, providerTools: providerToolsOf(request.providerTools, api, warnings) };
  }

  private mapped(request: ModelRequest): MappedRequest {
    return mapProperties(request, this.family.propertyNames?.(request.model));
  }

  private writing(request: ModelRequest, warnings: Warnings): Writing {
    const names = mapToolNames(namesIn(request), this.family.toolNames);
    return { provider: this.name, errors: this.errors, names, warnings };
  }

  private open(path: string, body: string, model: string, call: ModelCall): Promise<HttpAnswer> {
    const { traceparent } = call;
    const headers = traceparent === undefined ? undefined : { traceparent };
    return openWithRetries({ method: 'POST', path, headers, body }, call, this.retries, (attempt, error, waitMs) =>
      this.observe(model, call, { attempt, error, next: 'retry', waitMs }),
    );
  }

  private observe(
    model: string,
    { requestId, span }: ModelCall,
    failed: Omit<ModelAttempt, 'provider' | 'model' | 'requestId'>,
  ): void {
    span?.event(retryEvent, retried(failed.attempt, failed.error.code, failed.waitMs));
    this.parts.onAttempt?.({ provider: this.name, model, requestId, ...failed });
  }

  private async toError(answer: HttpAnswer): Promise<UpstreamFailure> {
    // The part that was received counts, even if the rest was cut or is too long.
    const body = await readText(answer, errorBodyBytes).catch(() => '');
    answer.close(true);
    return this.errors.ofStatus(answer.status, answer.headers, body);
  }

  private async listPage(path: string, call: HttpCall): Promise<{ models: string[]; nextPath?: string }> {
    // Does not count against the limit of calls.
    const answer = await this.client.open({ method: 'GET', path }, call, 0);
    try {
      if (answer.status === 404 || answer.status === 405) return { models: [] };
      const { status } = answer;
      const text = await readText(answer, this.config.max_response_bytes);
      const body = parseJson(text);
      if (status !== 200 || !isJsonObject(body)) {
        const said = isJsonObject(body) ? this.family.readError(body) : undefined;
        const isRefused = status === 401 || status === 403 || said?.refusesGateway === true;
        const message = isRefused ? keyRefused(this.access, status) : listNotRead(this.access, status);
        throw new AppError('model_error', message, { upstreamStatus: status });
      }
      return this.family.readModels(body);
    } finally {
      answer.close(true);
    }
  }
}

export const countsNone = (provider: string) =>
  new AppError('invalid_value', `Models of provider '${provider}' cannot count the tokens of a request`, {
    param: 'model',
  });

/** The first `maxBytes` of a body. */
async function readText(answer: HttpAnswer, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  await answer.read((bytes) => {
    pieces.push(bytes);
    size += bytes.length;
    return size < maxBytes ? undefined : 'enough';
  });
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes);
}

const lowerCased = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
