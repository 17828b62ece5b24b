// Keeps the catalog true to this worker's servers: lists each at start, again when it says that its tools changed, and
// again after a while where it could not be reached.
import type { Logger } from '#libs/logging/logger.js';
import type { CatalogStore } from '#libs/runs/catalog-store.js';
import type { ToolConnection } from './connection.js';
import type { OutputSchemas } from './output-schemas.js';
import type { ServerPool } from './pool.js';
import type { CatalogPublisher } from './publish-catalog.js';
import type { ConfiguredServer, ConfiguredServers } from './servers.js';

const RETRY_MS = 5_000;
const LIST_TIMEOUT_MS = 20_000;

export type ServerState = 'ready' | 'unavailable' | 'refused';

export interface CatalogParts {
  configured: ConfiguredServers;
  pool: ServerPool;
  store: CatalogStore;
  publisher: CatalogPublisher;
  outputs: OutputSchemas;
  logger: Logger;
}

export class CatalogService {
  readonly #states = new Map<string, { state: ServerState; reason?: string }>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #watched = new WeakSet<ToolConnection>();
  readonly #closing = new AbortController();

  constructor(private readonly parts: CatalogParts) {}

  /** Resolves when each server has been asked once. A store or server that is away is asked again later. */
  async start(): Promise<void> {
    const { servers, refused } = this.parts.configured;
    for (const { name, reason } of refused) {
      this.#states.set(name, { state: 'refused', reason });
      this.parts.logger.error({ metadata: { server: name, reason } }, 'a tool server was refused');
    }
    const known = [...servers, ...refused].map(({ name }) => name);
    await this.parts.store
      .retain(known)
      .catch((error: unknown) => this.parts.logger.warn({ error }, 'servers that are gone are still in the catalog'));
    await Promise.all(servers.map((server) => this.#list(server)));
  }

  close(): void {
    this.#closing.abort(new Error('the worker is stopping'));
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  /** For health: each server with its state, and why where it is not ready. */
  states(): { name: string; state: ServerState; reason?: string }[] {
    return [...this.#states].map(([name, state]) => ({ name, ...state }));
  }

  async #list(server: ConfiguredServer): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { pool, publisher, outputs, logger } = this.parts;
    try {
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
      const user = { principal: '', sessionId: '' };
      const listed = await pool.use(
        server.name,
        { user, signal, deadline: Date.now() + LIST_TIMEOUT_MS },
        (connection) => {
          this.#watch(server, connection);
          return connection.listTools(signal);
        },
      );
      const tools = await publisher.publish(server, listed);
      outputs.replace(server.name, tools);
      this.#states.set(server.name, { state: 'ready' });
      logger.info({ metadata: { server: server.name, tools: tools.length } }, 'tools of a server were published');
    } catch (error) {
      logger.warn({ error, metadata: { server: server.name } }, 'the tools of a server could not be published');
      this.#states.set(server.name, { state: 'unavailable', reason: 'its tools could not be listed or published' });
      await publisher.markUnavailable(server).catch(() => undefined);
      this.#listLater(server, RETRY_MS);
    }
  }

  #watch(server: ConfiguredServer, connection: ToolConnection): void {
    if (this.#watched.has(connection)) return;
    this.#watched.add(connection);
    // Several changes in a row are one.
    connection.onToolsChanged(() => this.#listLater(server, 50));
  }

  #listLater(server: ConfiguredServer, afterMs: number): void {
    clearTimeout(this.#timers.get(server.name));
    if (this.#closing.signal.aborted) return;
    const timer = setTimeout(() => void this.#list(server), afterMs);
    timer.unref();
    this.#timers.set(server.name, timer);
  }
}
