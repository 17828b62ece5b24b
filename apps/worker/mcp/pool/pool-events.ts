// Events of a pool, for the catalog and for metrics. Labels are server names and fixed words, never a caller's data.
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import type { ServerBound } from '../wire/server-bound.js';

/** Events about servers for the catalog. */
export interface PoolListener {
  onConnected(server: ConfiguredServer, connection: ToolConnection): void;
  /** Connecting failed several times in a row, the last time after `tookMs`; the server is blocked for a while. */
  onUnreachable(server: ConfiguredServer, tookMs: number): void;
}

export const closeReasons = {
  idle: 'idle',
  room: 'another instance needed its place',
  changed: 'its configuration has changed',
  removed: 'no longer configured',
  reconnected: 'its user has connected again, or disconnected',
  forgotten: 'forgotten by the server',
  session_left: 'its session moves to another worker',
  session_gone: 'its session was deleted',
  unwanted: 'no call waits for its start',
  stopping: 'the worker is stopping',
  /** Logged separately, with the cause. */
  ended: 'it ended by itself',
} as const;

export type CloseReason = keyof typeof closeReasons;

/** Why a call got no instance: connecting failed, all in use, too many calls on its instance, too many starts. */
export type RefusalReason = 'circuit' | 'instances' | 'concurrency' | 'starts';

/** `adopted`: a standby instance was used. */
export type ConnectOutcome = 'connected' | 'failed' | 'adopted';

export interface PoolEvents {
  onConnect(server: string, outcome: ConnectOutcome): void;
  onClosed(server: string, reason: CloseReason): void;
  onRefused(server: string, reason: RefusalReason): void;
  onBound(server: string, bound: ServerBound): void;
}

export const noPoolEvents: PoolEvents = {
  onConnect: () => undefined,
  onClosed: () => undefined,
  onRefused: () => undefined,
  onBound: () => undefined,
};
