// Keeps one server's tools in the catalog: lists them at the start, when they change, and again after failures. When the
// server's configuration changes, it stops and publishes nothing more.
import { strikeOutKnown } from '#libs/audit/known-secrets.js';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ServerReport } from '#libs/runs/processes/process-registry.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import { listServer } from './list-server.js';
import type { ServerPool } from '../pool/pool.js';
import type { CatalogPublisher } from './publish-catalog.js';

const retryMs = { first: 5_000, most: 60_000, mostOfPrograms: 600_000 };
/** Retries of a failing server wait this many times the failed attempt, so that a hanging program seldom runs. */
const restFactor = 10;
const listTimeoutMs = 60_000;
/** Limits for reporting tools that are left out, since each heartbeat reports them. */
const most = { named: 20, chars: 200 };
/** Several changes in a row count as one. A server that reports changes endlessly is listed less and less often. */
const changeDelayMs = { shared: { least: 50, most: 5_000 }, session: { least: 2_000, most: 60_000 } };

type ListingState = Exclude<ServerReport['state'], 'refused'>;

export interface ListingParts {
  pool: ServerPool;
  workspaces: Workspaces;
  publisher: CatalogPublisher;
  logger: Logger;
}

export class ListedServer {
  private currentState: ListingState = 'starting';
  private timer?: NodeJS.Timeout;
  private due = Infinity;
  private failures = 0;
  private failure = '';
  /** Tools of the last listing that are not offered, for the operator. */
  private leftOut: string[] = [];
  /** The version of MCP that the server and this worker agreed on last. */
  private protocol: string | undefined;
  /** A change was reported, and no listing has started since. */
  private changed = false;
  private readonly pause: GrowingPause;
  /** The listing in progress: one at a time. */
  private listing: Promise<void> | undefined;
  private again = false;
  private readonly writing = new Set<Promise<unknown>>();
  private readonly watched = new WeakSet<ToolConnection>();
  private readonly stopped = new AbortController();

  constructor(
    private configured: ConfiguredServer,
    private readonly parts: ListingParts,
  ) {
    this.pause = new GrowingPause(changeDelayMs[configured.scope]);
  }

  get server(): ConfiguredServer {
    return this.configured;
  }

  /** Updates the server's place among the others. Resolves when no write with the old place is in progress. */
  async place(server: ConfiguredServer): Promise<void> {
    this.configured = server;
    await Promise.allSettled(this.writing);
  }

  get state(): Pick<ServerReport, 'reason' | 'left_out' | 'protocol'> & {
    state: ListingState;
  } {
    const state = this.currentState;
    if (state === 'unavailable') {
      const isProgram = !this.server.builtin && this.server.isolation !== 'remote';
      const output = isProgram ? ". What it wrote to stderr is in the worker's log" : '';
      return { state, reason: strikeOutKnown(`its tools could not be listed or published${this.failure}${output}`) };
    }
    if (state === 'needs_sign_in') return { state, reason: 'nobody has signed in who may list its tools' };
    return {
      state,
      ...(this.leftOut.length === 0 ? {} : { left_out: this.leftOut }),
      ...(this.protocol === undefined ? {} : { protocol: this.protocol }),
    };
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

  /** The tools may have changed while nothing was connected. Servers with an instance per session are listed separately. */
  onConnected(connection: ToolConnection): void {
    if (this.watched.has(connection)) return;
    this.watch(connection);
    const { scope, builtin, forwardHeaders, users, statement } = this.server;
    if (['unavailable', 'needs_sign_in'].includes(this.currentState)) this.onChanged();
    const isOfUser = forwardHeaders.length > 0 || users !== undefined || statement !== undefined;
    const isForAll = scope === 'shared' && !builtin && !isOfUser;
    if (isForAll && this.listing === undefined) this.onChanged();
  }

  /** Somebody has connected to the server. */
  onSignedIn(): void {
    if (this.currentState === 'needs_sign_in') this.onChanged();
  }

  /** `tookMs`: how long the last attempt took to fail. */
  onUnreachable(tookMs: number): void {
    if (this.currentState !== 'ready') return;
    this.failure = '';
    void this.markUnavailable(tookMs);
  }

  /** Stops listing. Resolves when nothing more is published; `ended` resolves when its own instances have ended too. */
  async stop(): Promise<void> {
    this.stopped.abort(new Error('the server is no longer configured like this, or the worker is stopping'));
    clearTimeout(this.timer);
    await Promise.allSettled(this.writing);
  }

  async ended(): Promise<void> {
    await this.listing;
  }

  private async listNow(): Promise<void> {
    const { signal } = this.stopped;
    if (signal.aborted) return;
    const { pool, workspaces, publisher, logger } = this.parts;
    const { name } = this.server;
    this.changed = false;
    const begunAt = performance.now();
    try {
      const listed = await listServer(
        this.server,
        { pool, workspaces, timeoutMs: this.server.startTimeoutMs + listTimeoutMs },
        { signal, onConnection: (connection) => this.watch(connection) },
      );
      if (signal.aborted) return;
      const { published, leftOut } = await this.write(publisher.publish(this.server, listed));
      this.leftOut = shownOf(leftOut);
      this.currentState = 'ready';
      this.failures = 0;
      logger.info({ metadata: { server: name, tools: published.length } }, 'tools of a server were published');
      if (listed.failure === undefined) return;
      logger.warn({ error: listed.failure, metadata: { server: name } }, 'resources and prompts could not be listed');
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ConnectionNeeded) return this.waitForSignIn();
      logger.warn({ error, metadata: { server: name } }, 'the tools of a server could not be published');
      this.failure = error instanceof AppError ? `: ${error.message.slice(0, 300)}` : '';
      await this.markUnavailable(performance.now() - begunAt);
    }
  }

  /** Its last known tools are still offered: a call asks its caller to sign in. */
  private waitForSignIn(): void {
    this.currentState = 'needs_sign_in';
    this.failures = 0;
    this.listLater(retryMs.most);
  }

  private async markUnavailable(tookMs: number): Promise<void> {
    this.currentState = 'unavailable';
    this.failures += 1;
    const pauseMs = Math.min(retryMs.most, retryMs.first * 2 ** (this.failures - 1));
    const restMs = this.server.isolation === 'remote' ? 0 : Math.min(retryMs.mostOfPrograms, restFactor * tookMs);
    this.listLater(Math.max(pauseMs, restMs));
    if (this.stopped.signal.aborted) return;
    await this.write(this.parts.publisher.markUnavailable(this.server.name)).catch(() => undefined);
  }

  /** Remembers the write, because `stop` and `place` wait for it. */
  private async write<T>(writing: Promise<T>): Promise<T> {
    this.writing.add(writing);
    return writing.finally(() => this.writing.delete(writing));
  }

  private watch(connection: ToolConnection): void {
    if (this.watched.has(connection)) return;
    this.watched.add(connection);
    this.protocol = connection.peer?.protocolVersion ?? this.protocol;
    connection.onListChanged(() => this.onChanged());
  }

  private onChanged(): void {
    if (this.changed) return;
    this.changed = true;
    this.listLater(this.server.builtin ? changeDelayMs.shared.least : this.pause.next());
  }

  /** Does nothing if a listing is planned for sooner. */
  private listLater(afterMs: number): void {
    const due = performance.now() + afterMs;
    if (this.stopped.signal.aborted || due >= this.due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.due = Infinity;
      if (this.listing === undefined) void this.list();
      else this.again = true;
    }, afterMs).unref();
  }
}

function shownOf(leftOut: readonly string[]): string[] {
  const shown = leftOut.slice(0, most.named).map((each) => strikeOutKnown(each.slice(0, most.chars)));
  const more = leftOut.length - shown.length;
  return more === 0 ? shown : [...shown, `and ${more} more`];
}
