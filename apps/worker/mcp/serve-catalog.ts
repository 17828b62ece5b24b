// Keeps the catalog true to this worker's servers: lists each at start, again when it says that its tools changed or was
// connected anew, and again after a while where it could not be reached.
import type { Logger } from '#libs/logging/logger.js';
import type { CatalogStore } from '#libs/runs/catalog-store.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ConfiguredServer } from './configured-server.js';
import type { ToolConnection } from './connection.js';
import { listTools } from './list-tools.js';
import type { OutputSchemas } from './output-schemas.js';
import type { PoolListener, ServerPool } from './pool.js';
import type { CatalogPublisher } from './publish-catalog.js';
import type { ConfiguredServers } from './servers.js';

const retryMs = { first: 5_000, most: 60_000 };
const listTimeoutMs = 60_000;
/** Several changes in a row are one; a process is not started anew for each. */
const changeDelayMs = { shared: 50, session: 2_000 };

export type ServerState = 'starting' | 'ready' | 'unavailable' | 'refused';

export interface CatalogParts {
  configured: ConfiguredServers;
  pool: ServerPool;
  workspaces: Workspaces;
  store: CatalogStore;
  publisher: CatalogPublisher;
  outputs: OutputSchemas;
  logger: Logger;
}

export class CatalogService implements PoolListener {
  readonly #states = new Map<string, { state: ServerState; reason?: string }>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #failures = new Map<string, number>();
  readonly #watched = new WeakSet<ToolConnection>();
  readonly #listing = new Set<Promise<void>>();
  /** Servers whose tools are being listed. */
  readonly #asked = new Set<string>();
  readonly #closing = new AbortController();

  constructor(private readonly parts: CatalogParts) {
    parts.pool.listen(this);
  }

  /**
   * Resolves when each builtin has been asked once; the others take their time. A store or server that is away is asked
   * again later.
   */
  async start(): Promise<void> {
    const { servers, refused } = this.parts.configured;
    for (const { name, reason } of refused) {
      this.#states.set(name, { state: 'refused', reason });
      this.parts.logger.error({ metadata: { server: name, reason } }, 'a tool server was refused');
    }
    for (const { name } of servers) this.#states.set(name, { state: 'starting' });
    const known = [...servers, ...refused].map(({ name }) => name);
    await this.parts.store
      .retain(known)
      .catch((error: unknown) => this.parts.logger.warn({ error }, 'servers that are gone are still in the catalog'));
    for (const { name } of refused) await this.parts.publisher.markUnavailable(name).catch(() => undefined);
    const builtins = servers.filter((server) => server.builtin);
    for (const server of servers) if (!server.builtin) void this.#list(server);
    await Promise.all(builtins.map((server) => this.#list(server)));
  }

  /** Resolves when no server is being asked any more. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the worker is stopping'));
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#listing);
  }

  /** For health: each server with its state, and why where it is not ready. */
  states(): { name: string; state: ServerState; reason?: string }[] {
    return [...this.#states].map(([name, state]) => ({ name, ...state }));
  }

  /** A shared server may have changed while nobody was connected to it. */
  onConnected(server: ConfiguredServer, connection: ToolConnection): void {
    if (this.#watched.has(connection)) return;
    this.#watch(server, connection);
    const asked = this.#asked.has(server.name);
    if (server.scope === 'shared' && !server.builtin && !asked) this.#listLater(server, changeDelayMs.shared);
  }

  onUnreachable(server: ConfiguredServer): void {
    if (this.#states.get(server.name)?.state === 'ready') void this.#notReached(server);
  }

  #list(server: ConfiguredServer): Promise<void> {
    const listing = this.#listNow(server).finally(() => this.#listing.delete(listing));
    this.#listing.add(listing);
    return listing;
  }

  async #listNow(server: ConfiguredServer): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { pool, workspaces, publisher, outputs, logger } = this.parts;
    this.#asked.add(server.name);
    try {
      const parts = { pool, workspaces, timeoutMs: listTimeoutMs };
      const listed = await listTools(server, parts, {
        signal: this.#closing.signal,
        onConnection: (connection) => this.#watch(server, connection),
      });
      const tools = await publisher.publish(server, listed);
      outputs.replace(server.name, tools);
      this.#states.set(server.name, { state: 'ready' });
      this.#failures.delete(server.name);
      logger.info({ metadata: { server: server.name, tools: tools.length } }, 'tools of a server were published');
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      logger.warn({ error, metadata: { server: server.name } }, 'the tools of a server could not be published');
      await this.#notReached(server);
    } finally {
      this.#asked.delete(server.name);
    }
  }

  async #notReached(server: ConfiguredServer): Promise<void> {
    this.#states.set(server.name, { state: 'unavailable', reason: 'its tools could not be listed or published' });
    const failures = (this.#failures.get(server.name) ?? 0) + 1;
    this.#failures.set(server.name, failures);
    this.#listLater(server, Math.min(retryMs.most, retryMs.first * 2 ** (failures - 1)));
    await this.parts.publisher.markUnavailable(server.name).catch(() => undefined);
  }

  #watch(server: ConfiguredServer, connection: ToolConnection): void {
    if (this.#watched.has(connection)) return;
    this.#watched.add(connection);
    connection.onToolsChanged(() => this.#listLater(server, changeDelayMs[server.scope]));
  }

  #listLater(server: ConfiguredServer, afterMs: number): void {
    clearTimeout(this.#timers.get(server.name));
    if (this.#closing.signal.aborted) return;
    const timer = setTimeout(() => void this.#list(server), afterMs);
    timer.unref();
    this.#timers.set(server.name, timer);
  }
}
