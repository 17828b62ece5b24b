// The instances of servers: at most one per key, with back-off after failures, closed when idle. An instance that ends is
// noticed at once, and the next call starts another.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { FairSlots, type SlotWait } from '#libs/concurrency/fair-slots.js';
import { CircuitBreakers } from '#libs/concurrency/circuit-breaker.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import type { ConnectionKey } from '#libs/connections/connection-store.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { SessionLost } from '../servers/connection-errors.js';
import { ClosingInstances } from './closing-instances.js';
import type { ToolConnection } from '../servers/connection.js';
import { isSameServer, type ConfiguredServer, type PoolUser } from '../servers/configured-server.js';
import {
  noPoolEvents,
  type CloseReason,
  type PoolEvents,
  type PoolListener,
  type RefusalReason,
} from './pool-events.js';
import {
  countInstances,
  instanceKey,
  isLate,
  isOfUser,
  isOwn,
  lineOf,
  logInstance,
  started,
  steppingAside,
  type Instance,
  type InstanceCount,
  type UseOptions,
} from './pool-instance.js';
import { StartRefused, type ServerStarts } from '../servers/server-starts.js';
import { maxWaitingCalls, serversByName, unknownServer, type ConfiguredServers } from '../servers/servers.js';
import { Standbys } from './standbys.js';

export type PoolWork<T> = (connection: ToolConnection, server: ConfiguredServer) => Promise<T>;

/** How long a start continues without a waiting call, because the next call may need it. */
const unwantedStartMs = 3_000;
/** How many directories of deleted sessions are remembered, because calls for them may still arrive. */
const maxDeleted = 10_000;
const circuitSettings = { failures: 5, coolDownMs: 30_000 };
const maxCircuits = 1_000;

export class ServerPool {
  private servers: ReadonlyMap<string, ConfiguredServer>;
  /** Least recently used first. */
  private readonly byKey = new Map<string, Instance>();
  /** Failures to connect, by server name. */
  private readonly circuits = new CircuitBreakers(circuitSettings, maxCircuits);
  /** Instances that end before they have completed a call, by instance key. */
  private readonly crashes = new CircuitBreakers(circuitSettings, maxCircuits);
  private readonly stop = new AbortController();
  /** Instances removed from `byKey` that still have calls. */
  private readonly outgoing = new Set<Instance>();
  private readonly closing: ClosingInstances;
  private readonly standbys: Standbys;
  private readonly deleted = new Set<string>();
  private listener?: PoolListener;

  constructor(
    private configured: ConfiguredServers,
    private readonly logger: Logger,
    private readonly events: PoolEvents = noPoolEvents,
    private readonly starts: Pick<ServerStarts, 'waiting'> = { waiting: () => 0 },
  ) {
    this.servers = serversByName(configured);
    this.closing = new ClosingInstances(logger, events);
    this.standbys = new Standbys({
      room: (server) => server.maxInstances - this.of(server).length - this.standbys.count(server.name),
      isCurrent: (server) => this.isCurrent(server),
      onFailed: (server, error, tookMs) => this.countFailure(server, error, tookMs),
      signal: this.stop.signal,
      logger,
    });
  }

  warm(): void {
    for (const server of this.servers.values()) this.standbys.fill(server);
  }

  /** Replaces the servers. Instances of changed or removed servers take no new calls, and end after their last one. */
  replace(configured: ConfiguredServers): void {
    const before = this.servers;
    this.configured = configured;
    this.servers = serversByName(configured);
    for (const server of before.values()) if (!this.isCurrent(server)) this.circuits.forget(server.name);
    for (const instance of this.byKey.values()) {
      const { server } = instance;
      if (!this.isCurrent(server)) this.retire(instance, this.servers.has(server.name) ? 'changed' : 'removed');
    }
    this.standbys.replace();
    this.warm();
  }

  get instances(): number {
    return this.byKey.size;
  }

  census(): InstanceCount[] {
    const instances = [...this.byKey.values(), ...this.outgoing, ...this.closing.all];
    return countInstances(this.servers.keys(), instances, { standbys: this.standbys, starts: this.starts });
  }

  /** Runs `ensure` with the directory of a standby, if any. A new session with this directory gets the standby instance. */
  offerStandby<T extends { directory: string }>(
    server: string,
    ensure: (directory: string | undefined) => Promise<T>,
  ): Promise<T> {
    return this.standbys.offer(this.servers.get(server), ensure);
  }

  listen(listener: PoolListener): void {
    this.listener = listener;
  }

  server(name: string): ConfiguredServer | undefined {
    return this.servers.get(name);
  }

  /**
   * Runs `work` on the user's instance of the server, and once more on a new one if the server has lost its session.
   * @throws AppError tool_unavailable, and errors of `work`
   */
  async use<T>(name: string, options: UseOptions, work: PoolWork<T>): Promise<T> {
    for (let again = false; ; again = true) {
      const server = this.known(name);
      const instance = this.enter(server, options);
      let giveBack: (() => void) | undefined;
      try {
        const line = lineOf(instance, options);
        giveBack = instance.slots.takeFree(line) ?? (await this.waitForPlace(instance, line, options));
        if (!server.builtin) {
          giveBack = steppingAside(instance, giveBack, options, (signal) =>
            this.waitForPlace(instance, line, { signal, deadline: options.deadline, ahead: true }),
          );
        }
        const connection = instance.connected ?? (await started(instance, options));
        try {
          return await work(connection, server);
        } finally {
          if (!connection.closed) this.proven(instance);
        }
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
        // Other calls on it may still get their answers.
        this.retire(instance, 'forgotten');
        if (again) throw error;
      } finally {
        giveBack?.();
        instance.inUse -= 1;
        this.leaveIdle(instance);
      }
    }
  }

  /** @throws AppError tool_unavailable */
  private enter(server: ConfiguredServer, { user, deadline }: UseOptions): Instance {
    if (this.deleted.has(user.directory)) throw new AppError('tool_unavailable', 'The session was deleted');
    const instance = this.instance(server, user);
    instance.inUse += 1;
    instance.wantedUntil = Math.max(instance.wantedUntil, deadline);
    clearTimeout(instance.idleTimer);
    return instance;
  }

  private waitForPlace({ server, slots }: Instance, line: string, options: SlotWait): Promise<() => void> {
    return slots.take(line, options).catch((error: unknown) => {
      throw options.signal.aborted ? error : this.refusal(server, 'concurrency');
    });
  }

  private isCurrent(server: ConfiguredServer): boolean {
    return isSameServer(server, this.servers.get(server.name));
  }

  /** @throws AppError tool_unavailable, isolation_too_low */
  private known(name: string): ConfiguredServer {
    const server = this.servers.get(name);
    if (server !== undefined && !this.stop.signal.aborted) return server;
    throw unknownServer(
      name,
      this.configured.refused.find((each) => each.name === name),
    );
  }

  async closeSession(session: Pick<PoolUser, 'principal' | 'sessionId'>): Promise<void> {
    for (const instance of [...this.byKey.values(), ...this.outgoing]) {
      if (isOwn(instance, session)) this.remove(instance, 'session_left');
    }
    await this.closing.ended((instance) => isOwn(instance, session));
  }

  /** The user's connection to the server has become another: what runs with the old one takes no new calls. */
  reconnect(key: ConnectionKey): void {
    for (const each of this.byKey.values()) if (isOfUser(each, key)) this.retire(each, 'reconnected');
  }

  /** Ends the instances of a deleted session at once with their calls; none is started in the directory again. */
  async endIn(directory: string): Promise<void> {
    this.deleted.add(directory);
    if (this.deleted.size > maxDeleted) this.deleted.delete(this.deleted.values().next().value!);
    const isThere = ({ server, user }: Instance) => server.scope === 'session' && user.directory === directory;
    for (const instance of [...this.byKey.values(), ...this.outgoing]) {
      if (isThere(instance)) this.remove(instance, 'session_gone');
    }
    await Promise.all([this.standbys.endIn(directory), this.closing.ended(isThere)]);
  }

  async close(): Promise<void> {
    this.stop.abort(new Error('the worker is stopping'));
    for (const instance of [...this.byKey.values(), ...this.outgoing]) this.remove(instance, 'stopping');
    await Promise.all([this.standbys.close(), this.closing.ended(() => true)]);
  }

  private instance(server: ConfiguredServer, user: PoolUser): Instance {
    const key = instanceKey(server, user);
    const known = this.byKey.get(key);
    if (known !== undefined) {
      this.byKey.delete(key);
      this.byKey.set(key, known);
      return known;
    }
    const start = new AbortController();
    const connection = this.connect(server, user, AbortSignal.any([this.stop.signal, start.signal]));
    const slots = server.slots ?? new FairSlots(server.concurrency, maxWaitingCalls, `server ${server.name}`);
    const state = { inUse: 0, aside: 0, connected: undefined, proven: false, wantedUntil: 0 };
    const instance: Instance = { key, server, user, slots, connection, start, ...state };
    this.byKey.set(key, instance);
    const begunAt = performance.now();
    instance.connection.then(
      (connection) => {
        instance.connected = connection;
        // Standbys are started only now, since a program may hang while it starts.
        this.standbys.used(server);
        if (instance.inUse === 0) this.leaveIdle(instance);
        if (instance.leaving === undefined) this.circuits.forget(server.name);
        logInstance(this.logger, instance, 'tool server connected');
        connection.onClosed(() => this.ended(instance, connection));
        if (connection.closed) this.ended(instance, connection);
        else if (instance.leaving === undefined) this.listener?.onConnected(server, connection);
      },
      (error: unknown) => {
        this.forget(instance);
        // If we ended the start, the server did not fail, unless it was too slow.
        const ours = instance.closing !== undefined && !(instance.closing === 'unwanted' && isLate(instance));
        if (instance.leaving === undefined && !ours) this.countFailure(server, error, performance.now() - begunAt);
      },
    );
    return instance;
  }

  /** The start is not bound to the first call's signal, since others may wait too. @throws AppError tool_unavailable */
  private connect(server: ConfiguredServer, user: PoolUser, signal: AbortSignal): Promise<ToolConnection> {
    const adopted = this.standbys.adopt(server, user);
    if (adopted !== undefined) {
      this.events.onConnect(server.name, 'adopted');
      return Promise.resolve(adopted);
    }
    const mayTry = this.circuits.mayTry(server.name) && this.crashes.mayTry(instanceKey(server, user));
    if (!mayTry) throw this.refusal(server, 'circuit');
    return this.open(server, user, { room: this.makeRoom(server), signal });
  }

  private async open(
    server: ConfiguredServer,
    user: PoolUser,
    { room, signal }: { room: Promise<void> | undefined; signal: AbortSignal },
  ): Promise<ToolConnection> {
    if (room !== undefined) await unlessAborted(room, signal);
    const connection = await server.open(user, signal);
    this.events.onConnect(server.name, 'connected');
    return connection;
  }

  private proven(instance: Instance): void {
    instance.proven = true;
    this.crashes.forget(instance.key);
  }

  private ended(instance: Instance, { failure }: ToolConnection): void {
    this.forget(instance);
    if (instance.closing !== undefined) return;
    if (!instance.proven) this.crashes.failed(instance.key);
    logInstance(this.logger, instance, 'tool server ended by itself', failure?.message ?? 'the connection was closed');
    // Some processes of the instance may remain.
    this.remove(instance, 'ended');
  }

  private refusal({ name }: ConfiguredServer, reason: RefusalReason): AppError {
    this.events.onRefused(name, reason);
    const what = reason === 'circuit' ? 'does not answer' : 'is busy';
    return new AppError('tool_unavailable', `The tool server '${name}' ${what}`);
  }

  private countFailure(server: ConfiguredServer, error: unknown, tookMs: number): void {
    if (error instanceof StartRefused || error instanceof ConnectionNeeded) return;
    this.events.onConnect(server.name, 'failed');
    const open = this.circuits.failed(server.name);
    this.logger.warn({ error, metadata: { server: server.name } }, 'a tool server could not be connected');
    if (open) this.listener?.onUnreachable(server, tookMs);
  }

  /** Undefined if there is room, else resolves when there is. @throws AppError tool_unavailable if all are in use */
  private makeRoom(server: ConfiguredServer): Promise<void> | undefined {
    const same = this.of(server);
    if (same.length + this.standbys.ready(server.name) < server.maxInstances) return undefined;
    if (this.standbys.endOne(server.name)) return undefined;
    const idle = same.filter(({ inUse }) => inUse === 0);
    const oldest = idle.find(({ connected }) => connected !== undefined) ?? idle[0];
    if (oldest === undefined) throw this.refusal(server, 'instances');
    this.remove(oldest, 'room');
    return this.closing.untilFewer(server);
  }

  /** Least recently used first. */
  private of({ name }: ConfiguredServer): Instance[] {
    return [...this.byKey.values()].filter(({ server }) => server.name === name);
  }

  private leaveIdle(instance: Instance): void {
    if (instance.inUse > 0 || instance.closing !== undefined) return;
    if (this.byKey.get(instance.key) !== instance) return this.remove(instance, instance.leaving ?? 'ended');
    clearTimeout(instance.idleTimer);
    const { connected, server, wantedUntil } = instance;
    const unwantedMs = Math.max(0, Math.min(unwantedStartMs, wantedUntil - steadyNow()));
    const [reason, ms] =
      connected !== undefined ? (['idle', server.idleTtlMs] as const) : (['unwanted', unwantedMs] as const);
    instance.idleTimer = setTimeout(() => this.remove(instance, reason), ms).unref();
  }

  /** Takes no new calls; running ones still get their answers. */
  private retire(instance: Instance, reason: CloseReason): void {
    this.forget(instance);
    if (instance.closing !== undefined) return;
    instance.leaving ??= reason;
    this.outgoing.add(instance);
    this.leaveIdle(instance);
  }

  private forget(instance: Instance): void {
    clearTimeout(instance.idleTimer);
    this.outgoing.delete(instance);
    if (this.byKey.get(instance.key) === instance) this.byKey.delete(instance.key);
  }

  private remove(instance: Instance, reason: CloseReason): void {
    this.forget(instance);
    this.closing.close(instance, reason);
  }
}
