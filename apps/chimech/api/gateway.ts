// The gateway as an HTTP server: one JSON request, one JSON answer. What the answers mean is read elsewhere.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpFailure } from '#libs/http-client/outgoing.js';
import { parseJson } from '#libs/schemas/json.js';

export interface GatewaySettings {
  /** `http://127.0.0.1:8000` */
  url: string;
  key: string | undefined;
  model: string | undefined;
  embeddingsModel: string | undefined;
}

export interface GatewayResponse {
  status: number;
  /** Whole seconds. */
  retryAfterSeconds: number | undefined;
  /** Parsed; undefined if it is no JSON. */
  body: unknown;
}

export interface PostOptions {
  signal: AbortSignal;
  /** Of the call, for the gateway's log. */
  requestId: string;
  /** The call's token. */
  token: string | undefined;
}

/** There was no answer. The message is a sentence with the gateway's address. */
export class GatewayFailure extends Error {
  readonly kind: HttpFailure['kind'];

  constructor(url: string, { kind, what, cause }: HttpFailure) {
    super(`The gateway at ${new URL(url).origin} ${what}`, { cause });
    this.kind = kind;
  }
}

const connectMs = 5_000;
const keepAliveMs = 4_000;
const maxCalls = 256;
const maxAnswerBytes = 8 * 1024 * 1024;
/** Of a whole exchange; the time of a call ends it earlier. */
const exchangeMs = 300_000;

export class GatewayClient {
  private readonly client: HttpClient;

  constructor(readonly settings: GatewaySettings) {
    const { url, key } = settings;
    this.client = new HttpClient({
      baseUrl: url,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      timeoutMs: { connect: connectMs, first_byte: exchangeMs, idle: exchangeMs },
      keepAliveMs,
      maxExchanges: maxCalls,
      maxBytes: maxAnswerBytes,
      opensAt: 'headers',
      toError: (failure) => new GatewayFailure(url, failure),
    });
  }

  /** As the caller of the call with a token, else with the key of the settings. @throws GatewayFailure */
  async post(path: string, body: object, { signal, requestId, token }: PostOptions): Promise<GatewayResponse> {
    const headers = {
      'x-request-id': requestId,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    return this.exchange('POST', path, { signal, headers, body: JSON.stringify(body) });
  }

  /** Rejects if the gateway does not answer. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.exchange('GET', '/health/live', { signal });
  }

  /** Calls under way are cut. */
  close(): Promise<void> {
    return this.client.close();
  }

  private async exchange(
    method: string,
    path: string,
    { signal, ...sent }: { signal: AbortSignal; headers?: Record<string, string>; body?: string },
  ): Promise<GatewayResponse> {
    const deadline = steadyNow() + exchangeMs;
    const answer = await this.client.open({ method, path, ...sent }, { signal, deadline });
    let whole = false;
    try {
      const pieces: Uint8Array[] = [];
      await answer.read((bytes) => void pieces.push(bytes));
      whole = true;
      const { status, headers } = answer;
      return {
        status,
        retryAfterSeconds: seconds(headers['retry-after']),
        body: parseJson(Buffer.concat(pieces).toString()),
      };
    } finally {
      answer.close(whole);
    }
  }
}

function seconds(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
}
