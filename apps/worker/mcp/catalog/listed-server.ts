// One server's place in the catalog: listed, and listed again when its tools change or it could not be reached, until
// its configuration changes. After that it publishes nothing.
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import { listTools } from './list-tools.js';
import type { ServerPool } from '../pool/pool.js';
import type { CatalogPublisher } from './publish-catalog.js';

const retryMs = { first: 5_000, most: 60_000 };
const listTimeoutMs = 60_000;
/** Several changes in a row count as one. A server that reports changes endlessly is listed less and less often. */
const changeDelayMs = { shared: { least: 50, most: 5_000 }, session: { least: 2_000, most: 60_000 } };

export interface ListingParts {
  pool: ServerPool;
  workspaces: Workspaces;
  publisher: CatalogPublisher;
  logger: Logger;
}

export class ListedServer {
  private currentState: 'starting' | 'ready' | 'unavailable' = 'starting';
  private timer?: NodeJS.Timeout;
  /** When the timer fires, by performance.now(). */
  private due = Infinity;
  private failures = 0;
  /** Of the last failure, for the operator. */
  private why = '';
  /** A change after which no listing has begun. */
  private changed = false;
  private readonly pause: GrowingPause;
  /** The listing in progress: one at a time. */
  private listing: Promise<void> | undefined;
  /** It became due during another one. */
  private again = false;
  /** Writes in progress. */
  private readonly writing = new Set<Promise<unknown>>();
  private readonly watched = new WeakSet<ToolConnection>();
  private readonly leaving = new AbortController();

  constructor(
    private configured: ConfiguredServer,
    private readonly parts: ListingParts,
  ) {
    this.pause = new GrowingPause(changeDelayMs[configured.scope]);
  }

  get server(): ConfiguredServer {
    return this.configured;
  }

  /** The same server may move among the others. Resolves when no write with the old place is in progress. */
  async place(server: ConfiguredServer): Promise<void> {
    this.configured = server;
    await Promise.allSettled(this.writing);
  }

  get state(): { state: 'starting' | 'ready' | 'unavailable'; reason?: string } {
    const state = this.currentState;
    if (state !== 'unavailable') return { state };
    return { state, reason: `its tools could not be listed or published${this.why}` };
  }

  list(): Promise<void> {
    this.listing ??= this.listNow().finally(() => {
      this.listing = undefined;
      if (!this.again) return;
      this.again = false;
      void this.list();
    });
    return this.listing;
  }

  /** It may have changed while nobody was connected to it; what only sessions are connected to is listed by itself. */
  onConnected(connection: ToolConnection): void {
    if (this.watched.has(connection)) return;
    this.watch(connection);
    const { scope, builtin, forwardHeaders } = this.server;
    const forAll = scope === 'shared' && !builtin && forwardHeaders.length === 0;
    if (forAll && this.listing === undefined) this.onChanged();
  }

  onUnreachable(): void {
    if (this.currentState !== 'ready') return;
    this.why = '';
    void this.notReached();
  }

  /** Resolves when nothing more is published; `ended` when no instance of its own runs any more either. */
  async leave(): Promise<void> {
    this.leaving.abort(new Error('the server is no longer configured like this, or the worker is stopping'));
    clearTimeout(this.timer);
    await Promise.allSettled(this.writing);
  }

  async ended(): Promise<void> {
    await this.listing;
  }

  private async listNow(): Promise<void> {
    const { signal } = this.leaving;
    if (signal.aborted) return;
    const { pool, workspaces, publisher, logger } = this.parts;
    const { name } = this.server;
    this.changed = false;
    try {
      const listed = await listTools(
        this.server,
        { pool, workspaces, timeoutMs: listTimeoutMs },
        { signal, onConnection: (connection) => this.watch(connection) },
      );
      if (signal.aborted) return;
      const tools = await this.write(publisher.publish(this.server, listed));
      this.currentState = 'ready';
      this.failures = 0;
      logger.info({ metadata: { server: name, tools: tools.length } }, 'tools of a server were published');
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ error, metadata: { server: name } }, 'the tools of a server could not be published');
      this.why = error instanceof AppError ? `: ${error.message.slice(0, 300)}` : '';
      await this.notReached();
    }
  }

  private async notReached(): Promise<void> {
    this.currentState = 'unavailable';
    this.failures += 1;
    this.listLater(Math.min(retryMs.most, retryMs.first * 2 ** (this.failures - 1)));
    if (this.leaving.signal.aborted) return;
    await this.write(this.parts.publisher.markUnavailable(this.server.name)).catch(() => undefined);
  }

  /** Its successor waits for its remaining writes. */
  private async write<T>(writing: Promise<T>): Promise<T> {
    this.writing.add(writing);
    return writing.finally(() => this.writing.delete(writing));
  }

  private watch(connection: ToolConnection): void {
    if (this.watched.has(connection)) return;
    this.watched.add(connection);
    connection.onToolsChanged(() => this.onChanged());
  }

  private onChanged(): void {
    if (this.changed) return;
    this.changed = true;
    this.listLater(this.server.builtin ? changeDelayMs.shared.least : this.pause.next());
  }

  /** Does nothing if a listing is planned for sooner. */
  private listLater(afterMs: number): void {
    const due = performance.now() + afterMs;
    if (this.leaving.signal.aborted || due >= this.due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.due = Infinity;
      if (this.listing === undefined) void this.list();
      else this.again = true;
    }, afterMs);
    this.timer.unref();
  }
}
