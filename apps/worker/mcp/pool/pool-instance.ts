// A running instance of a server in the pool: who may use it, and how instances are counted.
import type { FairSlots } from '#libs/concurrency/fair-slots.js';
import type { Logger } from '#libs/logging/logger.js';
import { credentialOf, type ConfiguredServer, type PoolUser } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import type { CloseReason } from './pool-events.js';
import type { ServerStarts } from '../servers/server-starts.js';
import type { Standbys } from './standbys.js';

export interface UseOptions {
  user: PoolUser;
  signal: AbortSignal;
  /** Until when to wait for the instance's start and a free place, by `steadyNow()`. */
  deadline: number;
  /** Listings wait in another line, so that one that hangs does not block calls. Default: calls. */
  line?: 'calls' | 'listing';
}

export interface Instance {
  key: string;
  server: ConfiguredServer;
  user: PoolUser;
  connection: Promise<ToolConnection>;
  /** The resolved `connection`. */
  connected: ToolConnection | undefined;
  /** The instance has completed a call or a listing. */
  proven: boolean;
  slots: Pick<FairSlots, 'take' | 'takeFree'>;
  inUse: number;
  idleTimer?: NodeJS.Timeout;
  /** Aborts the instance's start. */
  start: AbortController;
  /** Until when any caller waits for the start, by `steadyNow()`. */
  wantedUntil: number;
  closing?: CloseReason;
  /** Why the instance takes no new calls and closes after its last one. */
  leaving?: CloseReason;
}

/** State must not leak: users with another session, principal or headers get another instance. */
export function instanceKey(server: ConfiguredServer, user: PoolUser): string {
  const sharing = server.statement === undefined ? [] : [user.principal];
  const owner = server.scope === 'shared' ? sharing : [user.principal, user.sessionId, user.directory];
  return JSON.stringify([server.name, server.configHash, credentialOf(user) ?? null, ...owner]);
}

export function isOwn({ server, user }: Instance, session: Pick<PoolUser, 'principal' | 'sessionId'>): boolean {
  return server.scope === 'session' && user.principal === session.principal && user.sessionId === session.sessionId;
}

/** Logs a start or an end, except for builtins, which are part of the worker. */
export function logInstance(logger: Logger, { server, user }: Instance, message: string, reason?: string): void {
  if (server.builtin) return;
  const fields = {
    ...(server.scope === 'shared' ? {} : { sessionId: user.sessionId, userId: user.principal }),
    metadata: { server: server.name, ...(reason === undefined ? {} : { reason }) },
  };
  logger.info(fields, message);
}

/** `waiting`: for permission to start. */
const instanceStates = ['waiting', 'connecting', 'busy', 'idle', 'standby', 'closing'] as const;

export type InstanceState = (typeof instanceStates)[number];

export interface InstanceCount {
  server: string;
  state: InstanceState;
  count: number;
}

/** Every state of every server, including empty ones, so that gauges return to zero. */
export function countInstances(
  names: Iterable<string>,
  instances: readonly Instance[],
  { standbys, starts }: { standbys: Pick<Standbys, 'ready' | 'starting'>; starts: Pick<ServerStarts, 'waiting'> },
): InstanceCount[] {
  const found = instances.map((instance) => ({ name: instance.server.name, state: stateOf(instance) }));
  const all = new Set([...names, ...found.map(({ name }) => name)]);
  return [...all].flatMap((server) => {
    const waiting = starts.waiting(server);
    const more: Partial<Record<InstanceState, number>> = {
      waiting,
      standby: standbys.ready(server),
      connecting: standbys.starting(server) - waiting,
    };
    return instanceStates.map((state) => {
      const same = found.filter((each) => each.name === server && each.state === state);
      return { server, state, count: same.length + (more[state] ?? 0) };
    });
  });
}

function stateOf({ closing, connected, inUse }: Instance): InstanceState {
  if (closing !== undefined) return 'closing';
  if (connected === undefined) return 'connecting';
  return inUse > 0 ? 'busy' : 'idle';
}
