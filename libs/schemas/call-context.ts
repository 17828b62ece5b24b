// Who asks, for what, until when: handed to every port between a request and a tool's result.
import type { AppError } from './errors.js';

export interface RequestContext {
  /** `local` while no keys are configured (governance: principals). */
  principal: string;
  /** The key that was shown, never the secret itself. */
  keyId?: string;
  ip?: string;
  requestId: string;
  traceparent?: string;
  /** Aborts when the caller has gone, the run is cancelled, or the deadline has passed. */
  signal: AbortSignal;
  /** Epoch ms after which nothing of this request may still run. */
  deadline: number;
}

/** Of a request that can be stopped from this side too. */
export interface StoppableContext extends RequestContext {
  /** Fires `signal`; the first reason stays. */
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
}
