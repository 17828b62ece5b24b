// A tool server of any kind, as this worker runs it.
import type { FairSlots } from '#libs/concurrency/fair-slots.js';
import type { ServerConfig } from '#libs/config/schema.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { ChangePolicy } from '#libs/schemas/tool-change.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import type { ToolConnection } from './connection.js';

export interface PoolUser {
  principal: string;
  sessionId: string;
  /** Name of the session's directory among the workspaces. */
  directory: string;
  /** Headers of the caller that are sent to the server (`forward_headers`). Never logged. */
  headers?: Readonly<Record<string, string>> | undefined;
}

export type OpenServer = (user: PoolUser, signal: AbortSignal) => Promise<ToolConnection>;

/** An instance without a session, in its own directory. */
export interface StandbyInstance {
  directory: string;
  /** Not usable for calls, since paths are not mapped yet. */
  connection: Pick<ToolConnection, 'closed' | 'onClosed' | 'close'>;
  adopt(sessionId: string): ToolConnection;
  /** Ends the instance and removes its directory. Only if no session has the directory. */
  discard(): Promise<void>;
}

export interface ConfiguredServer {
  name: string;
  /** Place among the servers: builtins first, then as configured. */
  order: number;
  configHash: string;
  builtin: boolean;
  trusted: boolean;
  /** Whether the server gets a token for each call, to ask models of the gateway as the caller. */
  actsForCaller: boolean;
  /** Signs who makes a request to the server; undefined: the server is not told. */
  statement?: ((user: Pick<PoolUser, 'principal'>, call?: ToolCallOptions) => Promise<string>) | undefined;
  /** Isolation as in the audit: `builtin`, `remote`, or a level of isolation. */
  isolation: string;
  paths?: { read: readonly string[]; write: readonly string[] };
  /** What its isolation keeps a command from, and what it may reach: `none`, `full`, or a list of hosts. */
  confinement?: { forbids: readonly string[]; network: string };
  scope: 'session' | 'shared';
  concurrency: number;
  /** Places for calls that all workers share; absent: each instance has its own. */
  slots?: Pick<FairSlots, 'take' | 'takeFree'> | undefined;
  maxInstances: number;
  idleTtlMs: number;
  /** From the start, or the first connection, to the answer to the greeting. */
  startTimeoutMs: number;
  timeoutMs: number;
  maxTimeoutMs: number;
  tools: ServerConfig['tools'];
  /** Set if calls have the rights of their user: users share no instance, and a listing may need somebody's rights. */
  users?: { anyConnected(): Promise<string | undefined> } | undefined;
  /** Lower-case names of the caller's headers that are sent to it. */
  forwardHeaders: readonly string[];
  changes: ChangePolicy;
  /** @throws AppError tool_unavailable */
  open: OpenServer;
  standbys?: { count: number; open(signal: AbortSignal): Promise<StandbyInstance> } | undefined;
}

/** A hash that distinguishes callers whose rights or headers the server gets. */
export function credentialOf({ principal, headers }: PoolUser, isOfUser: boolean): string | undefined {
  if (headers === undefined && !isOfUser) return undefined;
  return canonicalHash([principal, headers ?? {}]);
}

type ServerIdentity = Pick<ConfiguredServer, 'name' | 'configHash'>;

/** Whether both have the same name and configuration, so that an instance of one can serve the other. */
export function isSameServer(left: ServerIdentity | undefined, right: ServerIdentity | undefined): boolean {
  return left !== undefined && left.name === right?.name && left.configHash === right.configHash;
}

/** The setting of a tool, by the server's name for it. The name may be `constructor`. */
export function settingOf<T>(settings: Readonly<Record<string, T>> | undefined, tool: string): T | undefined {
  return settings !== undefined && Object.hasOwn(settings, tool) ? settings[tool] : undefined;
}

export function offeredName({ tools }: Pick<ConfiguredServer, 'tools'>, own: string): string {
  return settingOf(tools.rename, own) ?? own;
}

export function ownName({ tools }: Pick<ConfiguredServer, 'tools'>, offered: string): string {
  return Object.entries(tools.rename ?? {}).find(([, name]) => name === offered)?.[0] ?? offered;
}
