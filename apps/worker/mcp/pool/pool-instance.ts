// A running instance of a server in the pool: who may use it, and how instances are counted.
import type { FairSlots } from '#libs/concurrency/fair-slots.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { ConnectionKey } from '#libs/connections/connection-store.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { InstanceOwner } from '#libs/schemas/tool-job.js';
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
  /** Set by the pool while the call has a place, unless its server cannot ask. */
  stepAside?: StepAside | undefined;
}

/**
 * Gives a call's place to others while the call waits. The returned function resolves when the call has a place again. Undefined:
 * too many calls wait already, and this one keeps its place.
 */
export type StepAside = () => ((signal: AbortSignal) => Promise<void>) | undefined;

/** How many calls of an instance may wait without a place; each is a job of its worker. */
const maxAside = 16;

/** Lets a call step aside. Returns what gives back the place that it has in the end. */
export function steppingAside(
  instance: Pick<Instance, 'aside'>,
  first: () => void,
  call: UseOptions,
  take: (signal: AbortSignal) => Promise<() => void>,
): () => void {
  let giveBack = first;
  let over = false;
  call.stepAside = () => {
    if (instance.aside >= maxAside) return undefined;
    instance.aside += 1;
    giveBack();
    return async (signal) => {
      instance.aside -= 1;
      const taken = await take(signal);
      if (over) taken();
      else giveBack = taken;
    };
  };
  return () => {
    over = true;
    giveBack();
  };
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
  /** Calls in use that have given their places to others. */
  aside: number;
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
  const { name, configHash, scope, users, statement } = server;
  const sharing = statement === undefined ? [] : [user.principal];
  const owner = scope === 'shared' ? sharing : [user.principal, user.sessionId, user.directory];
  return JSON.stringify([name, configHash, credentialOf(user, users !== undefined) ?? null, ...owner]);
}

/** Who may learn what an instance says besides answers. */
export function instanceOwnerOf({ scope, users, statement }: ConfiguredServer, user: PoolUser): InstanceOwner {
  const { principal, sessionId, headers } = user;
  if (scope === 'session') return { principal, sessionId };
  return users !== undefined || statement !== undefined || headers !== undefined ? { principal } : {};
}

export function isOwn({ server, user }: Instance, session: Pick<PoolUser, 'principal' | 'sessionId'>): boolean {
  return server.scope === 'session' && user.principal === session.principal && user.sessionId === session.sessionId;
}

/** Whether its calls have the rights of the user's connection. */
export function isOfUser({ server, user }: Instance, connection: ConnectionKey): boolean {
  return server.users !== undefined && server.name === connection.server && user.principal === connection.principal;
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

/** A call whose time ends during the start has not run. @throws AppError tool_unavailable; the signal's reason */
export async function started(
  { connection, server }: Instance,
  { signal, deadline }: UseOptions,
): Promise<ToolConnection> {
  try {
    return await unlessAborted(connection, signal);
  } catch (error) {
    if (!signal.aborted || steadyNow() < deadline) throw error;
    const limit = `its start may take ${server.startTimeoutMs} ms (start_timeout_ms)`;
    const why = `The tool server '${server.name}' is still starting: ${limit}, which is longer than the time left for the call`;
    throw new AppError('tool_unavailable', why, { cause: error });
  }
}

export const isLate = ({ wantedUntil }: Instance): boolean => steadyNow() >= wantedUntil;

/** Each instance key has its own lines, shared by all workers. */
export const lineOf = ({ key }: Instance, { line = 'calls' }: UseOptions): string => `${key} ${line}`;
