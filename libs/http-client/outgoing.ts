// What is sent over HTTP, the answer as it is read, and what may fail on the way. An error's code is the caller's choice.
import type { Flow } from '#libs/concurrency/flow.js';
import type { AddressGuard } from './address-guard.js';

export interface ClientOptions {
  /** Requests go to its origin, below its path and with its query. */
  baseUrl: string;
  /** Sent with every request. */
  headers: Record<string, string>;
  /** `connect` 0: as long as the exchange may take. */
  timeoutMs: { connect: number; first_byte: number; idle: number };
  /** How long an unused connection stays open where the server does not say how long it keeps it. */
  keepAliveMs: number;
  maxExchanges: number;
  /** Of a body as it is sent: nothing is decompressed here. */
  maxBytes: number;
  /** An answer is there with its headers, or with the first byte of its body. */
  opensAt: 'headers' | 'first_byte';
  /** Which addresses may be connected to; all unless given. */
  guard?: AddressGuard;
  toError(failure: HttpFailure): Error;
}

export interface HttpFailure {
  /** `lost`: the connection was there, and no answer. `cut`: the body had begun. `noise`: bytes without end, and no body. */
  kind: 'connect' | 'timeout' | 'crowded' | 'too_large' | 'noise' | 'not_http' | 'away' | 'lost' | 'cut' | 'cancelled';
  /** What the server did, as the end of a sentence that begins with its name; without its address. */
  what: string;
  /** Of `cancelled` the signal's reason. */
  cause?: unknown;
}

export interface HttpRequest {
  method: string;
  /** Below the base address: `/chat/completions`, with its own query if it has one. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
}

export interface HttpCall {
  signal: AbortSignal;
  /** Of the whole exchange: milliseconds, as `steadyNow` counts them. */
  deadline: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /**
   * Pushes the body to `take` as it comes. Resolves at the end of a complete body, or once `take` has enough.
   * @throws what `toError` makes of a failure; what `take` throws
   */
  read(take: (bytes: Uint8Array) => Flow): Promise<void>;
  /** The rest must come within `ms`, however long the bound on silence is. */
  hurry(ms: number): void;
  /** Ends the exchange. `drain`: the answer is complete, so the connection may be used again. */
  close(drain?: boolean): void;
}
