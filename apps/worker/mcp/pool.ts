// Instances of servers: at most one a key, connected once under concurrency, backed off from when failing, closed when
// idle. A server that ends is noticed at once and made anew by the next call.
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolConnection } from './connection.js';
import { unknownServer, type ConfiguredServer } from './servers.js';

export interface PoolUser {
  principal: string;
  sessionId: string;
}

export interface UseOptions {
  user: PoolUser;
  signal: AbortSignal;
  /** Epoch ms: how long to wait for a free place. */
  deadline: number;
}

interface Instance {
  key: string;
  server: ConfiguredServer;
  connection: Promise<ToolConnection>;
  slots: FairSlots;
  inUse: number;
  idleTimer?: NodeJS.Timeout;
}

interface Circuit {
  failures: number;
  /** performance.now() before which nothing is tried. */
  closedUntil: number;
}

const FAILURES_TO_OPEN = 5;
const HALF_OPEN_MS = 30_000;
const WAITING_PER_INSTANCE = 1_000;

export class ServerPool {
  readonly #servers: ReadonlyMap<string, ConfiguredServer>;
  /** Least recently used first. */
  readonly #instances = new Map<string, Instance>();
  readonly #circuits = new Map<string, Circuit>();
  readonly #closing = new AbortController();

  constructor(
    servers: readonly ConfiguredServer[],
    private readonly logger: Logger,
  ) {
    this.#servers = new Map(servers.map((server) => [server.name, server]));
  }

  get instances(): number {
    return this.#instances.size;
  }

  /**
   * Runs `work` on the user's instance of the server.
   * @throws AppError tool_unavailable, and what `work` throws.
   */
  async use<T>(name: string, options: UseOptions, work: (connection: ToolConnection) => Promise<T>): Promise<T> {
    const server = this.#servers.get(name);
    if (server === undefined || this.#closing.signal.aborted) throw unknownServer(name);
    const instance = this.#instance(server, options.user);
    instance.inUse += 1;
    clearTimeout(instance.idleTimer);
    try {
      const giveBack = await instance.slots.take('', options).catch((error: unknown) => {
        throw options.signal.aborted ? error : busy(name);
      });
      try {
        return await work(await instance.connection);
      } finally {
        giveBack();
      }
    } finally {
      instance.inUse -= 1;
      this.#leaveIdle(instance);
    }
  }

  /** Ends a session's own instances; resolves when they have ended. */
  async closeSession(user: PoolUser): Promise<void> {
    const own = [...this.#servers.values()].filter(({ scope }) => scope === 'session');
    const instances = own.flatMap((server) => this.#instances.get(instanceKey(server, user)) ?? []);
    await Promise.all(instances.map((instance) => this.#remove(instance)));
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the worker is stopping'));
    await Promise.all([...this.#instances.values()].map((instance) => this.#remove(instance)));
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
    const instance: Instance = { key, server, slots, inUse: 0, connection: this.#connect(server) };
    this.#instances.set(key, instance);
    instance.connection.then(
      (connection) => {
        this.#circuits.delete(server.name);
        connection.onClosed(() => this.#forget(instance));
        if (connection.closed) this.#forget(instance);
      },
      (error: unknown) => {
        this.#forget(instance);
        this.#countFailure(server, error);
      },
    );
    return instance;
  }

  /** Not bound to the signal of the call that happens to be first: others wait for the same connection. */
  #connect(server: ConfiguredServer): Promise<ToolConnection> {
    return server.open(this.#closing.signal);
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
  }

  /** @throws AppError tool_unavailable when all instances of the server are in use. */
  #makeRoom(server: ConfiguredServer): void {
    const same = [...this.#instances.values()].filter((instance) => instance.server.name === server.name);
    if (same.length < server.maxInstances) return;
    const oldest = same.find((instance) => instance.inUse === 0);
    if (oldest === undefined) throw busy(server.name);
    void this.#remove(oldest);
  }

  #leaveIdle(instance: Instance): void {
    if (instance.inUse > 0 || this.#instances.get(instance.key) !== instance) return;
    instance.idleTimer = setTimeout(() => void this.#remove(instance), instance.server.idleTtlMs);
    instance.idleTimer.unref();
  }

  #forget(instance: Instance): void {
    clearTimeout(instance.idleTimer);
    if (this.#instances.get(instance.key) === instance) this.#instances.delete(instance.key);
  }

  async #remove(instance: Instance): Promise<void> {
    this.#forget(instance);
    try {
      await (await instance.connection).close();
    } catch (error) {
      this.logger.debug({ error, metadata: { server: instance.server.name } }, 'a tool server did not close cleanly');
    }
  }
}

/** State must not leak between users: a session's instance is never another session's, nor another principal's. */
function instanceKey(server: ConfiguredServer, user: PoolUser): string {
  const owner = server.scope === 'shared' ? [] : [user.principal, user.sessionId];
  return JSON.stringify([server.name, server.configHash, ...owner]);
}

const busy = (server: string): AppError => new AppError('tool_unavailable', `The tool server '${server}' is busy`);
