// Keeps the catalog up to date with this worker's servers: lists each server, removes those no longer configured, and
// publishes the order in which bare names of tools are resolved.
import { setTimeout as delay } from 'node:timers/promises';
import { eachInTurn } from '#libs/concurrency/lists/each-in-turn.js';
import type { ConnectionKey } from '#libs/connections/connection-store.js';
import type { ServerReport } from '#libs/runs/processes/process-registry.js';
import { isSameServer, type ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import { ListedServer, type ListingParts } from './listed-server.js';
import type { PoolListener } from '../pool/pool-events.js';
import type { ConfiguredServers, RefusedServer } from '../servers/servers.js';

const retainRetryMs = 5_000;
/** Hundreds of servers are listed a few at a time, so that a worker takes calls meanwhile. One that is slow holds up others no longer. */
const listings = { atOnce: 8, holdMs: 1_000 };

export interface CatalogParts extends ListingParts {
  configured: ConfiguredServers;
}

export class CatalogService implements PoolListener {
  private readonly listed = new Map<string, ListedServer>();
  private refused: readonly RefusedServer[] = [];
  /** Servers of an earlier configuration: their last processes may still be ending. */
  private readonly ending = new Set<Promise<void>>();
  private retry?: NodeJS.Timeout;
  private retrying: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly parts: CatalogParts) {
    parts.pool.listen(this);
  }

  /** Resolves when each builtin has been listed once. An unavailable store or server is retried later. */
  start(): Promise<void> {
    return this.replace(this.parts.configured);
  }

  /** Unchanged servers keep their state; the others are listed as at the start. */
  async replace({ servers, refused }: ConfiguredServers): Promise<void> {
    const settled: Promise<unknown>[] = [this.retrying];
    for (const [name, listed] of this.listed) {
      const same = servers.find((server) => isSameServer(server, listed.server));
      settled.push(same === undefined ? this.stop(listed) : listed.place(same));
      if (same === undefined) this.listed.delete(name);
    }
    this.refused = refused;
    for (const { name, reason } of refused) {
      this.parts.logger.error({ metadata: { server: name, reason } }, 'a tool server was refused');
    }
    const added = servers
      .filter(({ name }) => !this.listed.has(name))
      .map((server) => new ListedServer(server, this.parts));
    for (const listed of added) this.listed.set(listed.server.name, listed);
    clearTimeout(this.retry);
    await Promise.all(settled);
    await this.retain([...servers, ...refused].map(({ name }) => name));
    for (const { name } of refused) await this.parts.publisher.markUnavailable(name).catch(() => undefined);
    await Promise.all(added.filter(({ server }) => server.builtin).map((listed) => listed.list()));
    void listInTurn(added.filter(({ server }) => !server.builtin));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.retry);
    await Promise.all([...this.listed.values()].map((listed) => this.stop(listed)));
    await Promise.all(this.ending);
  }

  /** For health: each server with its state, the reason if it is not ready, and its tools that are left out. */
  states(): Pick<ServerReport, 'name' | 'state' | 'reason' | 'left_out' | 'protocol'>[] {
    return [
      ...this.refused.map(({ name, reason }) => ({ name, state: 'refused' as const, reason })),
      ...[...this.listed].map(([name, { state }]) => ({ name, ...state })),
    ];
  }

  onConnected(server: ConfiguredServer, connection: ToolConnection): void {
    this.current(server)?.onConnected(connection);
  }

  onUnreachable(server: ConfiguredServer, tookMs: number): void {
    this.current(server)?.onUnreachable(tookMs);
  }

  /** A user has connected to a server, or is not any more. */
  reconnect(key: ConnectionKey): void {
    this.parts.pool.reconnect(key);
    this.listed.get(key.server)?.onSignedIn();
  }

  private current(server: ConfiguredServer): ListedServer | undefined {
    const listed = this.listed.get(server.name);
    return isSameServer(listed?.server, server) ? listed : undefined;
  }

  private async stop(listed: ListedServer): Promise<void> {
    const ended = listed.ended().finally(() => this.ending.delete(ended));
    this.ending.add(ended);
    await listed.stop();
  }

  /** Retried if the store is unavailable. Until then removed servers are still offered, and their calls fail. */
  private async retain(names: readonly string[]): Promise<void> {
    try {
      await this.parts.publisher.retain(names);
    } catch (error) {
      this.parts.logger.warn({ error }, 'removed servers are still in the catalog');
      if (this.closed) return;
      this.retry = setTimeout(() => {
        this.retrying = this.retain(names);
      }, retainRetryMs).unref();
    }
  }
}

/** Never rejects: a listing that fails is retried. */
const listInTurn = (servers: readonly ListedServer[]): Promise<void> =>
  eachInTurn(servers, listings.atOnce, (listed) =>
    Promise.race([listed.list(), delay(listings.holdMs, undefined, { ref: false })]),
  );
