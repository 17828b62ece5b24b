// Who asks, for what, until when: handed to every port between a request and a tool's result.
import type { Access } from '../access/access.js';
import type { AppError } from './errors.js';

/** Everyone who calls without a key. */
export const keylessPrincipal = 'local';

export interface RequestContext {
  /** The key's owner; `keylessPrincipal` while keys are not in use. */
  principal: string;
  /** The key that was shown, never the secret itself. */
  keyId?: string;
  /** Of the key; absent: none. */
  roles?: readonly string[];
  /** What that key allows; absent: everything. */
  access?: Access;
  ip?: string;
  requestId: string;
  traceparent?: string;
  /** Aborts when the caller has gone, the run is cancelled, or the deadline has passed. */
  signal: AbortSignal;
  /** Epoch ms after which nothing of this request may still run. */
  deadline: number;
  /** Kept results of tools are no answer to this request (`Cache-Control: no-cache`). */
  noCache?: boolean;
  /** A header of the request, by its name in small letters; a function, so that no secret is written down with the rest. */
  header?: (name: string) => string | undefined;
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
  /** Where the headers are that the tool's server is to be sent. */
  sealedHeaders?: { ref: string; key: string };
}
