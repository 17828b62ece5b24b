// The catalog in memory, which every request reads. It is read from the store at start, on each announcement, and by a slow poll,
// which reads only the tools of servers that have changed. Of equal names, the first server in configuration order has the bare
// name.
import type { Channels } from '#libs/backing/channels.js';
import { Bell } from '#libs/concurrency/bell.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { keptFor } from '#libs/kept/kept-for.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CatalogServerState, PublishedCatalog, PublishedTool } from '#libs/runs/catalog/catalog-store.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ServerOffers } from '#libs/runs/catalog/server-offers.js';
import type { ChangedLists, OfferingServer, ServerTools } from './tool-catalog.js';

const pollMs = 5_000;
/** After a change, further ones are gathered for so long: hundreds of servers that are listed for the first time announce one each. */
const gatherMs = 100;

/** What a server has, as it was last read, with the hash of each list. */
interface StoredServer extends CatalogServerState {
  tools: readonly PublishedTool[];
  offers: ServerOffers | undefined;
  hashes: Readonly<Record<keyof ChangedLists, string>>;
}

interface Snapshot {
  servers: ReadonlyMap<string, readonly CatalogTool[]>;
  tools: readonly CatalogTool[];
  byName: ReadonlyMap<string, CatalogTool>;
  offering: readonly OfferingServer[];
  versions: Readonly<Record<keyof ChangedLists, string>>;
}

export class MemoryToolCatalog implements ServerTools {
  private snapshot: Snapshot = takeSnapshot([]);
  private stored: ReadonlyMap<string, StoredServer> = new Map();
  private timer?: NodeJS.Timeout;
  private stops: (() => unknown)[] = [];
  private readonly listeners = new Set<(changed: ChangedLists) => void>();
  private reading?: Promise<void>;
  private again = false;
  private changedAt = -Infinity;
  private readonly closing = new AbortController();

  constructor(
    private readonly store: PublishedCatalog,
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {}

  /** Reads the store once. If the store is away, the poll tries again. */
  async start(): Promise<void> {
    this.stops.push(await this.channels.subscribe(channelNames.catalog, () => void this.refresh()));
    this.stops.push(this.channels.onReconnect(() => void this.refresh()));
    this.timer = setInterval(() => void this.refresh(), pollMs).unref();
    await this.refresh();
  }

  async close(): Promise<void> {
    this.closing.abort();
    clearInterval(this.timer);
    await Promise.all(this.stops.map((stop) => stop()));
    await this.reading;
  }

  /** Reads one at a time; all requests during a read share the next read. */
  refresh(): Promise<void> {
    if (this.reading !== undefined) {
      this.again = true;
      return this.reading;
    }
    this.reading = this.readAll().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readAll(): Promise<void> {
    do {
      const restMs = gatherMs - (performance.now() - this.changedAt);
      if (restMs > 0) await new Bell().heard(restMs, this.closing.signal);
      this.again = false;
      if (this.closing.signal.aborted) return;
      try {
        await this.readChanged();
      } catch (error) {
        this.logger.warn({ error }, 'the tool catalog could not be read, the last known one is served');
      }
    } while (this.again);
  }

  private async readChanged(): Promise<void> {
    const before = this.stored;
    const stored = new Map<string, StoredServer>();
    let changed = false;
    for (const state of await this.store.servers()) {
      const known = before.get(state.server);
      const same = known?.revision === state.revision;
      stored.set(state.server, same ? { ...known, ...state } : { ...state, ...(await this.read(state.server)) });
      changed ||= !same || known.order !== state.order || known.available !== state.available;
    }
    if (!changed && stored.size === before.size) return;
    this.stored = stored;
    this.take(takeSnapshot([...stored.values()]));
    this.changedAt = performance.now();
  }

  private async read(server: string): Promise<Omit<StoredServer, keyof CatalogServerState>> {
    const [tools, offers] = await Promise.all([this.store.published(server), this.store.offers(server)]);
    const { resources = [], templates = [], prompts = [] } = offers ?? {};
    const hashes = {
      tools: canonicalHash(tools),
      resources: canonicalHash([resources, templates]),
      prompts: canonicalHash(prompts),
    };
    return { tools, offers, hashes };
  }

  private take(snapshot: Snapshot): void {
    const { versions } = this.snapshot;
    const changed = {
      tools: snapshot.versions.tools !== versions.tools,
      resources: snapshot.versions.resources !== versions.resources,
      prompts: snapshot.versions.prompts !== versions.prompts,
    };
    this.snapshot = snapshot;
    if (!Object.values(changed).includes(true)) return;
    for (const listener of this.listeners) listener(changed);
  }

  onChange(listener: (changed: ChangedLists) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  get version(): string {
    return this.snapshot.versions.tools;
  }

  find(name: string): CatalogTool | undefined {
    return this.snapshot.byName.get(name);
  }

  list(server?: string): readonly CatalogTool[] {
    return server === undefined ? this.snapshot.tools : (this.snapshot.servers.get(server) ?? []);
  }

  offering(): readonly OfferingServer[] {
    return this.snapshot.offering;
  }

  hasServer(server: string): boolean {
    return this.snapshot.servers.has(server);
  }
}

/** The same object as long as nothing of the tool changes: what was counted and indexed of it is kept with it. */
const entryOf = keptFor((tool: PublishedTool, available: boolean, name: string): CatalogTool => ({
  ...tool,
  available,
  name,
}));

/** `server__tool` always leads to that server, so a tool whose bare name looks like that gets no bare name. */
function takeSnapshot(stored: readonly StoredServer[]): Snapshot {
  const ordered = [...stored].sort((left, right) => left.order - right.order || (left.server < right.server ? -1 : 1));
  const qualified = new Set(ordered.flatMap(({ server, tools }) => tools.map(({ tool }) => `${server}__${tool}`)));
  const byName = new Map<string, CatalogTool>();
  const servers = new Map<string, readonly CatalogTool[]>();
  for (const { server, available, tools } of ordered) {
    const named: CatalogTool[] = [];
    for (const tool of tools) {
      const long = `${server}__${tool.tool}`;
      const bareIsFree = !byName.has(tool.tool) && !qualified.has(tool.tool);
      if (!bareIsFree && byName.has(long)) continue;
      const entry = entryOf(tool, available, bareIsFree ? tool.tool : long);
      named.push(entry);
      byName.set(entry.name, entry);
      if (!byName.has(long)) byName.set(long, entry);
    }
    servers.set(server, named);
  }
  const tools = [...servers.values()].flat();
  const offering = ordered.flatMap(({ server, offers }) => (offers === undefined ? [] : [{ server, offers }]));
  const versionOf = (list: keyof ChangedLists) =>
    canonicalHash(
      ordered.map(({ server, available, hashes }) => [server, list === 'tools' && available, hashes[list]]),
    );
  const versions = { tools: versionOf('tools'), resources: versionOf('resources'), prompts: versionOf('prompts') };
  return { servers, tools, byName, offering, versions };
}
