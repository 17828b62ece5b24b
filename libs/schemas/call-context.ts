// Who makes a request, for what, until when: passed to every port between the request and the tool's result.
import type { AppError } from './errors.js';

/** Principal of all callers without a key. */
export const keylessPrincipal = 'local';

export interface RequestContext {
  /** `keylessPrincipal` if no keys are configured. */
  principal: string;
  /** The id of the key that was presented, never the secret itself. */
  keyId?: string;
  ip?: string;
  requestId: string;
  traceparent?: string;
  /** Aborts when the caller disconnects, the run is cancelled, or the deadline passes. */
  signal: AbortSignal;
  /** Epoch ms after which nothing of this request may run. */
  deadline: number;
  /** Cached tool results must not answer this request (`Cache-Control: no-cache`). */
  noCache?: boolean;
  /** A request header by its lower-case name; a function, so that secrets are not serialised with the rest. */
  header?: (name: string) => string | undefined;
}

/** For requests that can also be stopped from this side. */
export interface StoppableContext extends RequestContext {
  /** Aborts `signal`; the first reason is kept. */
  abort(reason: AppError): void;
}

export interface CallContext extends RequestContext {
  runId?: string;
  /** Model round of the run, from 1. */
  round?: number;
  /** The session's name within its principal. */
  sessionId: string;
  callId: string;
  model?: string;
  priority: 'interactive' | 'batch';
  /** Where the headers for the tool's server are stored. */
  sealedHeaders?: { ref: string; key: string };
}
