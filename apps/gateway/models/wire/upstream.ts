// The port of one upstream over HTTP: what is sent to it, and the answer as it is read.
import type { Flow } from '#libs/concurrency/flow.js';
import type { ProviderConfig } from '#libs/config/schema.js';

export interface TransportOptions {
  provider: string;
  baseUrl: string;
  /** Sent with every request. */
  headers: Record<string, string>;
  timeoutMs: ProviderConfig['timeout_ms'];
  maxConcurrency: number;
  maxResponseBytes: number;
}

export interface UpstreamRequest {
  method: 'GET' | 'POST';
  /** Below the base address: `/chat/completions`, with its own query if it has one. */
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

export interface UpstreamCall {
  signal: AbortSignal;
  /** Epoch ms. */
  deadline: number;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /**
   * Pushes the body to `take` as it comes. Resolves at the end of a complete body, or once `take` has enough.
   * @throws AppError model_stream_cut, model_timeout, model_bad_response (too large), cancelled; what `take` throws
   */
  read(take: (bytes: Uint8Array) => Flow): Promise<void>;
  /** The rest must come within `ms`, however patient the provider's own bound on silence is. */
  hurry(ms: number): void;
  /** Ends the exchange. `drain`: the answer is complete, so the connection may be used again. */
  close(drain?: boolean): void;
}
