// Who makes a request, with which rights, until when: passed to every port between the request and the tool's result.
import type { AppError } from './errors.js';
import type { ToolLogLevel } from './tool-job.js';

/** Principal of all callers without a key. */
export const keylessPrincipal = 'local';

/** What a key may be used for. */
export const scopes = ['chat', 'tools', 'files', 'admin'] as const;
export type Scope = (typeof scopes)[number];

/** What a key or a token allows. */
/** Named sets of tools, which may change at any time. */
export interface NamedToolsets {
  get(name: string): { has(tool: { server: string; tool: string }): boolean; added: readonly string[] } | undefined;
}

export interface Access {
  roles: readonly string[];
  scopes: readonly Scope[];
  /** Globs of model names as callers write them; absent: every model. */
  models?: readonly string[];
  /** Globs of `server/tool`, or `@` and the name of a toolset. First `allow` (absent: every tool), then `deny`. */
  tools: { allow?: readonly string[]; deny?: readonly string[] };
  /** The sets that `tools` may name. */
  toolsets?: NamedToolsets;
  limits: { requests_per_minute?: number; tokens_per_minute?: number; turns?: number };
  /** Absent members have the value that the configuration gives every key. */
  budgets?: { day_usd?: number; month_usd?: number };
}

/** A deadline that can be paused, as in `libs/concurrency/deadline.ts`. */
export interface RequestDeadline {
  /** Epoch ms by `steadyNow()`, later by the time of all pauses. */
  readonly at: number;
  /** Stops the time while a person is waited for. Returns a function that ends the pause. */
  pause(): () => void;
}

export interface RequestContext {
  /** The owner of the key, the `sub` of the token; `keylessPrincipal` while no keys are in use. */
  principal: string;
  /** The id of the key that was presented, never the secret itself; absent for a token. */
  keyId?: string;
  /** Roles of the key or token; absent: none. */
  roles?: readonly string[];
  /** Rights of the key or token; absent: everything is allowed. */
  access?: Access;
  /** The tool call that makes this request with its call token; such a request is offered no server tools. */
  parentCall?: string;
  ip?: string;
  requestId: string;
  traceparent?: string;
  /** Aborts when the caller disconnects, the run is cancelled, or the deadline passes. */
  signal: AbortSignal;
  /** The end of the time in which the request may run. */
  deadline: RequestDeadline;
  /**
   * Whether the caller of a tool stays while a question of the tool server waits (`hold`), or gets the question and comes back.
   * Absent: nobody can be asked.
   */
  questions?: 'hold' | 'return';
  /** The caller gets log messages of the tool server from this level on. Absent: none. */
  logLevel?: ToolLogLevel;
  /** Cached tool results must not answer this request (`Cache-Control: no-cache`). */
  noCache?: boolean;
  /** A request header by its lower-case name; a function, so that secrets are not serialised with the rest. */
  header?: (name: string) => string | undefined;
  /** The caller's own token of the issuer, if tool servers get others for it; a function for the same reason. */
  callerToken?: (() => string) | undefined;
}

/** For requests that can also be stopped from this side. */
export interface StoppableContext extends RequestContext {
  /** Aborts `signal`; the first reason is kept. */
  abort(reason: AppError): void;
  /** A turn runs for the request, and the turn's log line replaces that of the request. */
  runsTurn?: boolean;
}

export interface CallContext extends RequestContext {
  runId?: string;
  /** Model round of the run, from 1. */
  round?: number;
  /** The session's name within its principal. */
  sessionId: string;
  callId: string;
  /** The model that made the call; absent if the caller itself made it, and comes back with it when it is refused. */
  model?: string | undefined;
  priority: 'interactive' | 'batch';
  /** Where the headers for the tool's server are stored. */
  sealedHeaders?: { ref: string; key: string };
}
