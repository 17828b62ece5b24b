// Instances of servers: at most one a key, connected once under concurrency, backed off from when failing, closed when
// idle. A server that ends is noticed at once and made anew by the next call.
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { SessionLost } from './connection-errors.js';
import type { ToolConnection } from './connection.js';
import { credentialOf, isSameServer, type ConfiguredServer, type PoolUser } from './configured-server.js';
import { unknownServer, type ConfiguredServers } from './servers.js';

export interface UseOptions {
  user: PoolUser;
  signal: AbortSignal;
  /** Epoch ms: how long to wait for a free place. */
  deadline: number;
}

interface Instance {
  key: string;
  server: ConfiguredServer;
  user: PoolUser;
  connection: Promise<ToolConnection>;
  slots: FairSlots;
  inUse: number;
  idleTimer?: NodeJS.Timeout;
  /** By us; a close without is the server's own doing. */
  closing?: true;
  /** Why it takes no new call and is closed by its last one. */
  leaving?: string;
}

/** What others want to know of the servers. */
export interface PoolListener {
  onConnected(server: ConfiguredServer, connection: ToolConnection): void;
  /** It could not be connected several times in a row, and is left alone for a while. */
  onUnreachable(server: ConfiguredServer): void;
}

export type PoolWork<T> = (connection: ToolConnection, server: ConfiguredServer) => Promise<T>;

interface Circuit {
  failures: number;
  /** performance.now() before which nothing is tried. */
  closedUntil: number;
}

const FAILURES_TO_OPEN = 5;
const HALF_OPEN_MS = 30_000;
const WAITING_PER_INSTANCE = 1_000;

export class ServerPool {
  #servers: ReadonlyMap<string, ConfiguredServer>;
  /** Least recently used first. */
  readonly #instances = new Map<string, Instance>();
  readonly #circuits = new Map<string, Circuit>();
  readonly #closing = new AbortController();
  /** Taken out of `#instances` while calls ran on them. */
  readonly #outgoing = new Set<Instance>();
  /** Being closed: what is not in `#instances` any more, but has not ended. */
  readonly #leaving = new Set<Promise<void>>();
  #listener?: PoolListener;

  constructor(
    private configured: ConfiguredServers,
    private readonly logger: Logger,
  ) {
    this.#servers = byName(configured);
  }

  /**
   * From now on other servers are in use. What runs for one that has changed or gone takes no new call, and ends with
   * the last of its calls, which have their own deadlines.
   */
  replace(configured: ConfiguredServers): void {
    const before = this.#servers;
    this.configured = configured;
    this.#servers = byName(configured);
    const changed = (name: string) => !isSameServer(before.get(name), this.#servers.get(name));
    for (const name of [...this.#circuits.keys()].filter(changed)) this.#circuits.delete(name);
    for (const instance of this.#instances.values()) {
      const current = this.#servers.get(instance.server.name);
      if (isSameServer(instance.server, current)) continue;
      this.#letGo(instance, current === undefined ? 'no longer configured' : 'its configuration has changed');
    }
  }

  get instances(): number {
    return this.#instances.size;
  }

  listen(listener: PoolListener): void {
    this.#listener = listener;
  }

  server(name: string): ConfiguredServer | undefined {
    return this.#servers.get(name);
  }

  /**
   * Runs `work` on the user's instance of the server; once more on a new one where the server has forgotten it.
   * @throws AppError tool_unavailable, and what `work` throws.
   */
  async use<T>(name: string, options: UseOptions, work: PoolWork<T>): Promise<T> {
    try {
      return await this.#useInstance(this.#known(name), options, work);
    } catch (error) {
      if (!(error instanceof SessionLost)) throw error;
      return this.#useInstance(this.#known(name), options, work);
    }
  }

  /** @throws AppError tool_unavailable, isolation_too_low */
  #known(name: string): ConfiguredServer {
    const server = this.#servers.get(name);
    if (server !== undefined && !this.#closing.signal.aborted) return server;
    throw unknownServer(
      name,
      this.configured.refused.find((each) => each.name === name),
    );
  }

  async #useInstance<T>(server: ConfiguredServer, options: UseOptions, work: PoolWork<T>): Promise<T> {
    const instance = this.#instance(server, options.user);
    instance.inUse += 1;
    clearTimeout(instance.idleTimer);
    try {
      const giveBack = await instance.slots.take('', options).catch((error: unknown) => {
        throw options.signal.aborted ? error : busy(server.name);
      });
      try {
        const connection = await unlessAborted(instance.connection, options.signal);
        return await work(connection, server);
      } catch (error) {
        // Others may still get their answers from it: it is closed by the last of them.
        if (error instanceof SessionLost) this.#letGo(instance, 'forgotten by the server');
        throw error;
      } finally {
        giveBack();
      }
    } finally {
      instance.inUse -= 1;
      this.#leaveIdle(instance);
    }
  }

  /** Ends a session's own instances; resolves when they have ended. */
  async closeSession({ principal, sessionId }: Pick<PoolUser, 'principal' | 'sessionId'>): Promise<void> {
    for (const instance of [...this.#instances.values(), ...this.#outgoing]) {
      const { server, user } = instance;
      const own = server.scope === 'session' && user.principal === principal && user.sessionId === sessionId;
      if (own) this.#remove(instance, 'its session leaves this worker');
    }
    await Promise.all(this.#leaving);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the worker is stopping'));
    for (const instance of [...this.#instances.values(), ...this.#outgoing]) {
      this.#remove(instance, 'the worker is stopping');
    }
    await Promise.all(this.#leaving);
  }

  #instance(server: ConfiguredServer, user: PoolUser): Instance {
    const key = instanceKey(server, user);
    const known = this.#instances.get(key);
    if (known !== undefined) {
      this.#instances.delete(key);
      this.#instances.set(key, known);
      return known;
    }
    this.#refuseWhileFailing(server);
    this.#makeRoom(server);
    const slots = new FairSlots(server.concurrency, WAITING_PER_INSTANCE, `server ${server.name}`);
    const connection = this.#connect(server, user);
    const instance: Instance = { key, server, user, slots, inUse: 0, connection };
    this.#instances.set(key, instance);
    instance.connection.then(
      (connection) => {
        if (instance.leaving === undefined) this.#circuits.delete(server.name);
        this.#log(instance, 'tool server connected');
        connection.onClosed(() => this.#ended(instance, connection));
        if (connection.closed) this.#ended(instance, connection);
        else if (instance.leaving === undefined) this.#listener?.onConnected(server, connection);
      },
      (error: unknown) => {
        this.#forget(instance);
        if (instance.leaving === undefined) this.#countFailure(server, error);
      },
    );
    return instance;
  }

  /** Not bound to the signal of the call that happens to be first: others wait for the same connection. */
  #connect(server: ConfiguredServer, user: PoolUser): Promise<ToolConnection> {
    return server.open(user, this.#closing.signal);
  }

  /** By itself or by us; a server's own end is noticed here at once. */
  #ended(instance: Instance, { failure }: ToolConnection): void {
    this.#forget(instance);
    if (instance.closing !== undefined) return;
    this.#log(instance, 'tool server ended by itself', failure?.message ?? 'the connection was closed');
    // Of its processes some may be left.
    this.#remove(instance);
  }

  /** A line a start and end; builtins are part of the worker. */
  #log({ server, user }: Instance, message: string, reason?: string): void {
    if (server.builtin) return;
    const fields = {
      ...(server.scope === 'shared' ? {} : { sessionId: user.sessionId, userId: user.principal }),
      metadata: { server: server.name, ...(reason === undefined ? {} : { reason }) },
    };
    this.logger.info(fields, message);
  }

  #refuseWhileFailing(server: ConfiguredServer): void {
    const circuit = this.#circuits.get(server.name);
    if (circuit === undefined || performance.now() >= circuit.closedUntil) return;
    throw new AppError('tool_unavailable', `The tool server '${server.name}' does not answer`);
  }

  #countFailure(server: ConfiguredServer, error: unknown): void {
    const failures = (this.#circuits.get(server.name)?.failures ?? 0) + 1;
    const open = failures >= FAILURES_TO_OPEN;
    const closedUntil = open ? performance.now() + HALF_OPEN_MS : 0;
    this.#circuits.set(server.name, { failures, closedUntil });
    this.logger.warn({ error, metadata: { server: server.name, failures } }, 'a tool server could not be connected');
    if (open) this.#listener?.onUnreachable(server);
  }

  /** @throws AppError tool_unavailable when all instances of the server are in use. */
  #makeRoom(server: ConfiguredServer): void {
    const same = [...this.#instances.values()].filter((instance) => instance.server.name === server.name);
    if (same.length < server.maxInstances) return;
    const oldest = same.find((instance) => instance.inUse === 0);
    if (oldest === undefined) throw busy(server.name);
    this.#remove(oldest, 'room was needed');
  }

  #leaveIdle(instance: Instance): void {
    if (instance.inUse > 0 || instance.closing !== undefined) return;
    if (this.#instances.get(instance.key) !== instance) return this.#remove(instance, instance.leaving);
    instance.idleTimer = setTimeout(() => this.#remove(instance, 'idle'), instance.server.idleTtlMs);
    instance.idleTimer.unref();
  }

  /** New calls get another instance, or none; those that run on it get their answers. */
  #letGo(instance: Instance, reason: string): void {
    this.#forget(instance);
    if (instance.closing !== undefined) return;
    instance.leaving ??= reason;
    this.#outgoing.add(instance);
    this.#leaveIdle(instance);
  }

  #forget(instance: Instance): void {
    clearTimeout(instance.idleTimer);
    this.#outgoing.delete(instance);
    if (this.#instances.get(instance.key) === instance) this.#instances.delete(instance.key);
  }

  /** @param reason why we close it; absent where it has ended by itself, which has been logged. */
  #remove(instance: Instance, reason?: string): void {
    this.#forget(instance);
    instance.closing = true;
    const left = this.#close(instance, reason).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  async #close(instance: Instance, reason: string | undefined): Promise<void> {
    const connection = await instance.connection.catch(() => undefined);
    try {
      await connection?.close();
      if (connection !== undefined && reason !== undefined) this.#log(instance, 'tool server closed', reason);
    } catch (error) {
      this.logger.warn({ error, metadata: { server: instance.server.name } }, 'a tool server did not close cleanly');
    }
  }
}

function byName({ servers }: ConfiguredServers): ReadonlyMap<string, ConfiguredServer> {
  return new Map(servers.map((server) => [server.name, server]));
}

/** State must not leak between users: an instance is never another session's, principal's, or that of other headers. */
function instanceKey(server: ConfiguredServer, user: PoolUser): string {
  const owner = server.scope === 'shared' ? [] : [user.principal, user.sessionId, user.directory];
  return JSON.stringify([server.name, server.configHash, credentialOf(user) ?? null, ...owner]);
}

const busy = (server: string): AppError => new AppError('tool_unavailable', `The tool server '${server}' is busy`);
