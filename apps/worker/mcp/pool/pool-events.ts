// Events of a pool: for the catalog, and for metrics with server names and fixed words as labels,
// never a caller's data.
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import type { ServerBound } from '../wire/server-bound.js';

/** Events about servers for the catalog. */
export interface PoolListener {
  onConnected(server: ConfiguredServer, connection: ToolConnection): void;
  /** Connecting failed several times in a row; the server is blocked for a while. */
  onUnreachable(server: ConfiguredServer): void;
}

/** Why an instance ended, as logged. */
export const closeReasons = {
  idle: 'idle',
  room: 'room was needed',
  changed: 'its configuration has changed',
  removed: 'no longer configured',
  forgotten: 'forgotten by the server',
  session_left: 'its session leaves this worker',
  session_gone: 'its session is no more',
  unwanted: 'nobody waits for its start',
  stopping: 'the worker is stopping',
  /** By itself: it has its own log line. */
  ended: 'it has ended by itself',
} as const;

export type CloseReason = keyof typeof closeReasons;

/** Why a call got no instance: connecting failed, all in use, too many calls on its own, too many others starting. */
export type RefusalReason = 'circuit' | 'instances' | 'concurrency' | 'starts';

/** `adopted`: it was started before any call needed it. */
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
