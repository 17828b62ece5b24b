// An HTTP request, its answer, and the ways it can fail. The caller chooses the error code.
import type { Flow } from '#libs/concurrency/flow.js';
import type { AddressGuard } from './address-guard.js';

export interface HttpClientOptions {
  /** Requests go to its origin, with its path as a prefix and its query added. */
  baseUrl: string;
  /** Sent with every request. */
  headers: Record<string, string>;
  /** `connect` 0: no separate limit beyond that of the exchange. */
  timeoutMs: { connect: number; first_byte: number; idle: number };
  /** How long an unused connection stays open if the server does not announce its own limit. */
  keepAliveMs: number;
  maxExchanges: number;
  /** Size of a body on the wire: nothing is decompressed here. */
  maxBytes: number;
  /** Whether an answer opens with its headers or with the first byte of its body. */
  opensAt: 'headers' | 'first_byte';
  /** Restricts which addresses may be connected to. */
  guard?: AddressGuard;
  toError(failure: HttpFailure): Error;
}

export interface HttpFailure {
  /** `lost`: connected, but no answer. `cut`: the body had begun. `noise`: many bytes, but no body. */
  kind: 'connect' | 'timeout' | 'crowded' | 'too_large' | 'noise' | 'not_http' | 'away' | 'lost' | 'cut' | 'cancelled';
  /** The predicate of a sentence that starts with the server's name; without its address. */
  what: string;
  /** For `cancelled`, the signal's reason. */
  cause?: unknown;
}

export interface HttpRequest {
  method: string;
  /** Relative to the base address: `/chat/completions`, with its own query if it has one. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
}

export interface HttpCall {
  signal: AbortSignal;
  /** For the whole exchange, in `steadyNow` milliseconds. */
  deadline: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /**
   * Pushes the body to `take` as it arrives. Resolves at the end of a complete body, or when `take` has enough.
   * @throws what `toError` returns for a failure; what `take` throws
   */
  read(take: (bytes: Uint8Array) => Flow): Promise<void>;
  /** The rest must arrive within `ms`, regardless of the idle limit. */
  hurry(ms: number): void;
  /** Ends the exchange. `drain`: the answer is complete, so the connection may be reused. */
  close(drain?: boolean): void;
}
