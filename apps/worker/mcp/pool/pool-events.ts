// What a pool tells of itself while it works: to the catalog, and to metrics in names of servers and words of fixed sets,
// nothing of a caller.
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import type { ServerBound } from '../wire/server-bound.js';

/** What the catalog wants to know of the servers. */
export interface PoolListener {
  onConnected(server: ConfiguredServer, connection: ToolConnection): void;
  /** It could not be connected several times in a row, and is left alone for a while. */
  onUnreachable(server: ConfiguredServer): void;
}

/** Why an instance is no more, as the log says it. */
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
  /** By itself: the log has a line of its own for it. */
  ended: 'it has ended by itself',
} as const;

export type CloseReason = keyof typeof closeReasons;

/** Why a call got no instance: failures to connect, all in use, too many calls on its own, too many others that start. */
export type RefusalReason = 'circuit' | 'instances' | 'concurrency' | 'starts';

/** `adopted`: it had been started before anybody asked for it. */
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
