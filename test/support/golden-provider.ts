// Test support: a family's own writer and reader with answers from a file. Only the network is fake; requests and events
// are recorded.
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { answering } from './one-by-one.js';
import type { ModelProvider, ModelRequest, TakeModelEvents } from '../../apps/gateway/models/model-provider.js';
import { withOwnPropertyNames } from '../../apps/gateway/models/wire/own-property-names.js';
import { readAnswer } from '../../apps/gateway/models/wire/read-answer.js';
import { type Kind, streamOf, writeRequest } from '../fixtures/read-family.js';

/** An upstream's answer to one request: a failure status, or a message, both streamed and whole. */
export interface GoldenUpstream {
  status?: number;
  headers?: Record<string, string>;
  body?: JsonObject;
  /** SSE data in the family's own format, one entry per frame; strings are sent unchanged. */
  chunks?: (JsonObject | string)[];
  /** The connection breaks after the last chunk. */
  cut?: boolean;
  /** The same message as a single body. */
  whole?: JsonObject;
}

export interface GoldenExchange {
  sends: { path: string; body: JsonObject };
  reads: JsonObject[];
}

export interface GoldenFamily {
  kind: Kind;
  /** Bytes per read. */
  split: number;
  /** Settings of the provider besides its kind. */
  settings: JsonObject;
}

export class GoldenProvider implements ModelProvider {
  readonly name = 'up';
  readonly exchanges: GoldenExchange[] = [];
  private readonly answers: GoldenUpstream[];

  constructor(
    private readonly family: GoldenFamily,
    answers: readonly GoldenUpstream[],
  ) {
    this.answers = [...answers];
  }

  async call(request: ModelRequest, _call: unknown, take: TakeModelEvents): Promise<void> {
    const { path, body, json, reader, errors, tools, warnings } = writeRequest(
      this.family.kind,
      request,
      this.family.settings,
    );
    for (let sent: string | undefined = body; sent !== undefined; sent = reader.again?.()) {
      const upstream = this.answers.shift();
      if (upstream === undefined) throw new Error('a request more than there are answers');
      const exchange: GoldenExchange = {
        sends: { path, body: sent === body ? (json as JsonObject) : (JSON.parse(sent) as JsonObject) },
        reads: [],
      };
      this.exchanges.push(exchange);
      if (upstream.status !== undefined) {
        const { error, retryable } = errors.ofStatus(
          upstream.status,
          upstream.headers ?? {},
          JSON.stringify(upstream.body),
        );
        exchange.reads.push({ ...shownError(error), retryable });
        await take([{ type: 'error', error }]);
        return;
      }
      const answer = open(upstream, request.stream, this.family);
      const named = withOwnPropertyNames(tools, (batch) => {
        for (const event of batch) note(event, exchange.reads);
        return take(batch);
      });
      const reported = warnings.addTo(named);
      await readAnswer(answer, reader, { provider: 'up', maxEventChars: 1_000_000 }, reported);
    }
  }

  countTokens(): Promise<number> {
    return Promise.reject(new Error('not asked'));
  }

  listModels(): Promise<string[]> {
    return Promise.resolve([]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function open(upstream: GoldenUpstream, stream: boolean, { kind, split }: GoldenFamily) {
  const bytes = stream ? framed(kind, upstream.chunks ?? []) : Buffer.from(JSON.stringify(upstream.whole));
  let at = 0;
  const read = () => {
    if (at < bytes.length) return Promise.resolve(bytes.subarray(at, (at += split)));
    if (upstream.cut === true) return Promise.reject(new AppError('model_stream_cut', 'The connection broke'));
    return Promise.resolve(undefined);
  };
  return answering(stream ? 'text/event-stream' : 'application/json', read);
}

/** Framed as the provider does it. */
function framed(kind: Kind, chunks: (JsonObject | string)[]): Buffer {
  return streamOf(
    chunks.map((chunk) => {
      if (typeof chunk === 'string') return chunk;
      const data = JSON.stringify(chunk);
      if (kind === 'gemini') return `data: ${data}\r\n\r\n`;
      return kind === 'anthropic' || kind === 'responses'
        ? `event: ${chunk['type'] as string}\ndata: ${data}\n\n`
        : `data: ${data}\n\n`;
    }),
  );
}

/** Records events as data, joining the pieces of a text or of a call's arguments. */
function note(event: ModelEvent, reads: JsonObject[]): void {
  const shown = event.type === 'error' ? shownError(event.error) : ({ ...event } as unknown as JsonObject);
  const last = reads.at(-1);
  const isPiece = event.type.endsWith('_delta') && shown['extras'] === undefined;
  const alike = (member: string) => last?.[member] === shown[member];
  if (last === undefined || !isPiece || !['type', 'index', 'choice'].every(alike)) return void reads.push(shown);
  const member = event.type === 'tool_call_delta' ? 'arguments' : 'text';
  last[member] = `${last[member] as string}${shown[member] as string}`;
}

function shownError({ code, http, message, retryAfterSeconds, param }: AppError): JsonObject {
  return {
    type: 'error',
    code,
    http,
    message,
    ...(param !== undefined && { param }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}
