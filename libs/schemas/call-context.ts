// Who makes a request, for what, until when: passed to every port between the request and the tool's result.
import type { AppError } from './errors.js';

/** Principal of all callers without a key. */
export const keylessPrincipal = 'local';

/** What a key may be used for. */
export const scopes = ['chat', 'tools', 'files', 'admin'] as const;
export type Scope = (typeof scopes)[number];

/** What a key or a token allows. */
export interface Access {
  roles: readonly string[];
  scopes: readonly Scope[];
  /** Globs of model names as callers write them; absent: every model. */
  models?: readonly string[];
  /** Globs of `server/tool`. First `allow` (absent: every tool), then `deny`. */
  tools: { allow?: readonly string[]; deny?: readonly string[] };
  limits: { requests_per_minute?: number; tokens_per_minute?: number; turns?: number };
  /** Absent, as each member of it: what the configuration gives a key. */
  budgets?: { day_usd?: number; month_usd?: number };
}

/** `libs/concurrency/deadline.ts` is one. */
export interface RequestDeadline {
  /** Epoch ms by `steadyNow()`; later, the longer it was paused. */
  readonly at: number;
  /** Time in which a person is waited for does not count. Returns what ends the pause. */
  pause(): () => void;
}

export interface RequestContext {
  /** The owner of the key, the `sub` of the token; `keylessPrincipal` while no keys are in use. */
  principal: string;
  /** The id of the key that was presented, never the secret itself; absent for a token. */
  keyId?: string;
  /** Of the key or token; absent: none. */
  roles?: readonly string[];
  /** What key or token allows; absent: everything. */
  access?: Access;
  /** The tool call that asks as this caller, by a call token: it is offered no server tools. */
  parentCall?: string;
  ip?: string;
  requestId: string;
  traceparent?: string;
  /** Aborts when the caller disconnects, the run is cancelled, or the deadline passes. */
  signal: AbortSignal;
  /** After it nothing of this request may run. */
  deadline: RequestDeadline;
  /** Cached tool results must not answer this request (`Cache-Control: no-cache`). */
  noCache?: boolean;
  /** A request header by its lower-case name; a function, so that secrets are not serialised with the rest. */
  header?: (name: string) => string | undefined;
}

/** For requests that can also be stopped from this side. */
export interface StoppableContext extends RequestContext {
  /** Aborts `signal`; the first reason is kept. */
  abort(reason: AppError): void;
  /** A turn runs for it, whose line in the log tells what there is to tell. */
  runsTurn?: boolean;
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
  /**
   * If its tool server asks its caller something: the caller is told and stays, or is told and comes back. Absent: nobody
   * can be asked.
   */
  questions?: 'hold' | 'return';
  /** Where the headers for the tool's server are stored. */
  sealedHeaders?: { ref: string; key: string };
}
