// The worker without its HTTP server: connects, starts and stops everything that runs tools.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { Backing } from '#libs/backing/backing.js';
import type { CallTokenMint } from '#libs/access/call-tokens.js';
import { SealedValues } from '#libs/backing/sealed-values.js';
import type { Faults } from '#libs/config/fault-points.js';
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import type { Config } from '#libs/config/schema.js';
import { SharedPlaces } from '#libs/limits/shared-places.js';
import type { Logger } from '#libs/logging/logger.js';
import type { DeletedSession } from '#libs/runs/sessions/deleted-sessions.js';
import { announceCatalog } from '#libs/runs/catalog/announce-catalog.js';
import type { CatalogStore } from '#libs/runs/catalog/catalog-store.js';
import type { ProcessInfo, ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { SessionLeases } from '#libs/runs/sessions/session-leases.js';
import type { SessionStore } from '#libs/runs/sessions/session-store.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ChangeGrade, ChangeOutcome } from '#libs/schemas/tool-change.js';
import { OutcomeSpool } from './jobs/outcome-spool.js';
import { OutcomeWriter } from './jobs/outcome-writer.js';
import { JobProcessor } from './jobs/processor.js';
import { Questions } from './jobs/questions.js';
import { ResourceUpdates } from './jobs/resource-updates.js';
import { ReplySender } from './jobs/reply-sender.js';
import { SessionAffinity } from './jobs/session-affinity.js';
import { CallRunner } from './jobs/run-call.js';
import { RunningCalls } from './jobs/running-calls.js';
import type { InProcessServer } from './mcp/servers/in-process-connection.js';
import { OutputSchemas } from './mcp/catalog/output-schemas.js';
import { ServerPool } from './mcp/pool/pool.js';
import { noPoolEvents, type PoolEvents } from './mcp/pool/pool-events.js';
import type { InstanceCount } from './mcp/pool/pool-instance.js';
import { CatalogPublisher } from './mcp/catalog/publish-catalog.js';
import { CatalogService } from './mcp/catalog/serve-catalog.js';
import { ServerStarts } from './mcp/servers/server-starts.js';
import { ServerVitals } from './mcp/servers/server-vitals.js';
import { noteEnds, reportServer } from './mcp/pool/report-server.js';
import { configuredServers, type ConfiguredServers, type ServerParts } from './mcp/servers/servers.js';
import type { Isolation } from './sandbox/isolation.js';
import { isolationLevels } from './sandbox/levels.js';
import { EgressProxy, type EgressOptions } from './sandbox/egress-proxy.js';

export interface WorkerParts extends Pick<ServerParts, 'connections'>, Required<Pick<ServerParts, 'statements'>> {
  workerId: string;
  config: Config;
  backing: Backing;
  journal: Journal;
  sessions: SessionStore;
  leases: SessionLeases;
  catalog: CatalogStore;
  waits: WaitStore;
  registry: ProcessRegistry;
  workspaces: Workspaces;
  workspacesMark?: string | undefined;
  isolation: Isolation;
  /** Files that no tool server may read, besides Signalbox's own data. */
  unreadable?: readonly string[] | undefined;
  /** The configuration file's directory. */
  configDirectory: string;
  /** Servers inside this process, by name. */
  builtins: ReadonlyMap<string, InProcessServer>;
  callTokens: CallTokenMint;
  faults?: Faults;
  /** Called when a tool's definition has changed. */
  onToolChange?: (grade: ChangeGrade, outcome: ChangeOutcome) => void;
  /** Called for each connection that a tool server opens. */
  onEgress?: EgressOptions['onConnection'];
  poolEvents?: PoolEvents | undefined;
  logger: Logger;
}

/** Finds all registrations, also of dead workers, that no reaper has removed. */
const anyAgeMs = 365 * 86_400_000;
const spoolBytes = 1024 * 1024 * 1024;

export class Worker {
  readonly catalog: CatalogService;
  readonly outcomes: OutcomeWriter;
  readonly running = new RunningCalls();
  private readonly pool: ServerPool;
  readonly affinity: SessionAffinity;
  private readonly serverParts: Omit<ServerParts, 'config'>;
  private config: Config;
  private configured: ConfiguredServers;
  private egress: Promise<EgressProxy> | undefined;
  private readonly places: SharedPlaces;
  readonly jobs: JobProcessor;
  private readonly announcements: WaitAnnouncements;
  private readonly vitals = new ServerVitals();

  constructor(private readonly parts: WorkerParts) {
    const { config, backing, logger, waits, workerId } = parts;
    const poolEvents = noteEnds(parts.poolEvents ?? noPoolEvents, this.vitals);
    const limits = { maxBytes: config.limits.tool_schema_bytes, maxDepth: config.limits.tool_schema_depth };
    const environment = inheritedEnvironment();
    const starts = new ServerStarts({
      limit: config.worker.server_starts ?? availableParallelism(),
      onRefused: (server) => poolEvents.onRefused(server, 'starts'),
    });
    const isAlone = () => parts.registry.peers(workerId) === 0;
    this.places = new SharedPlaces({ counters: backing.counters, holder: workerId, isAlone, logger });
    this.serverParts = {
      builtins: parts.builtins,
      workspaces: parts.workspaces,
      environment,
      packageRoots: [process.cwd(), import.meta.dirname],
      isolation: parts.isolation,
      unreadable: parts.unreadable,
      configDirectory: parts.configDirectory,
      starts,
      egress: () => this.openEgress(),
      cache: backing.cache,
      places: this.places,
      connections: parts.connections,
      statements: parts.statements,
      onBound: poolEvents.onBound,
      onStderr: (server, line) => this.vitals.wrote(server, line),
      logger,
    };
    this.config = config;
    this.configured = configuredServers({ ...this.serverParts, config });
    const outputs = new OutputSchemas(parts.catalog, limits, logger);
    const replies = new ReplySender(backing.channels, logger);
    const spool = new OutcomeSpool(join(config.data_dir, 'spool'), spoolBytes, logger);
    this.pool = new ServerPool(this.configured, logger, poolEvents, starts);
    // Room for the clamped result, which may double in size when it is escaped for JSON.
    const maxOutcomeBytes = 2 * config.tools.max_result_bytes + 64 * 1024;
    this.outcomes = new OutcomeWriter(parts.journal, spool, logger, maxOutcomeBytes);
    this.catalog = new CatalogService({
      configured: this.configured,
      pool: this.pool,
      workspaces: parts.workspaces,
      publisher: new CatalogPublisher({
        store: parts.catalog,
        channels: backing.channels,
        limits,
        onChange: parts.onToolChange,
        logger,
      }),
      logger,
    });
    const { channels } = backing;
    const announcements = new WaitAnnouncements({ store: waits, channels, logger });
    this.announcements = announcements;
    const calls = new CallRunner({
      workerId,
      journal: parts.journal,
      outcomes: this.outcomes,
      replies,
      running: this.running,
      questions: new Questions({ waits, announcements, replies, logger }),
      signIns: { waits, expiresMs: config.approvals.expires_ms, maxWaiting: config.limits.waiting_approvals },
      isKnown: async (id) => (await parts.registry.alive('worker', anyAgeMs)).some((each) => each.id === id),
      sessions: parts.sessions,
      pool: this.pool,
      workspaces: parts.workspaces,
      bounds: { maxResultBytes: config.tools.max_result_bytes, maxReadBytes: config.tools.max_read_bytes },
      sealed: new SealedValues(backing.cache),
      callTokens: parts.callTokens,
      outputCheck: (job) => outputs.checkOf(job),
      updates: new ResourceUpdates(backing.channels, logger),
      onBound: poolEvents.onBound,
      faults: parts.faults,
      logger,
    });
    this.affinity = new SessionAffinity({
      workerId,
      leases: parts.leases,
      registry: parts.registry,
      queue: backing.queue,
      idleTtlMs: (name) => this.sessionTtlMs(name),
      closeSession: (session) => this.pool.closeSession(session),
      logger,
    });
    const { concurrency } = config.worker;
    this.jobs = new JobProcessor({
      workerId,
      concurrency,
      backing,
      calls,
      affinity: this.affinity,
      running: this.running,
      replies,
      logger,
    });
  }

  /** Opened at the first use; after a failure, tried again at the next. */
  private openEgress(): Promise<EgressProxy> {
    const { logger, onEgress = () => undefined } = this.parts;
    this.egress ??= EgressProxy.open({ logger, onConnection: onEgress }).catch((error: unknown) => {
      this.egress = undefined;
      throw error;
    });
    return this.egress;
  }

  /** The isolation levels of the command servers, or the level that they would get if there are none. */
  isolationLevels(): string[] {
    const levels = this.configured.servers.map(({ isolation }) => isolation);
    const used = [...new Set(levels)].filter((level) => level !== 'builtin' && level !== 'remote');
    return used.length > 0 ? used : [this.defaultLevel()];
  }

  /** The level of each command server, 0 to 3. */
  isolationOfServers(): Record<string, number> {
    const levels = this.configured.servers.map(({ name, isolation }) => {
      return [name, isolationLevels.findIndex((level) => level === isolation)] as const;
    });
    return Object.fromEntries(levels.filter(([, level]) => level >= 0));
  }

  /** Command servers that are refused because their level is not available here. */
  countBelowIsolation(): number {
    return this.configured.refused.filter(({ code }) => code === 'isolation_too_low').length;
  }

  /** Whether a server that was refused would not be now, because its program has been installed. */
  canServeMore(): boolean {
    const { refused } = this.configured;
    if (refused.length === 0) return false;
    try {
      return this.prepare(this.config).refused.length < refused.length;
    } catch {
      // The program is being installed.
      return false;
    }
  }

  private defaultLevel(): string {
    const { isolation, config } = this.parts;
    const level = config.isolation.minimum;
    return isolation.refusal(level) === undefined ? level : `${isolation.strongest}: commands are refused`;
  }

  instances(): InstanceCount[] {
    return this.pool.census();
  }

  /**
   * Publishes the builtin tools, so that gateways that see this worker know them, then registers, so that a reaper can find it
   * if it dies, then takes jobs.
   */
  async start(): Promise<void> {
    await this.outcomes.start();
    await this.catalog.start();
    const { workerId: id, registry } = this.parts;
    await registry.register({ id, kind: 'worker', details: this.details() });
    registry.describe(id, () => this.details());
    await this.announcements.start();
    await this.jobs.start();
    await announceCatalog({ channels: this.parts.backing.channels, logger: this.parts.logger });
    this.pool.warm();
  }

  /** Replaces the tool servers, see `ServerPool.replace`. Resolves when the catalog is updated. */
  async reconfigure(mcpServers: Config['mcpServers']): Promise<void> {
    this.config = { ...this.config, mcpServers };
    this.configured = this.prepare(this.config);
    this.pool.replace(this.configured);
    this.vitals.keep(new Set(this.configured.servers.map(({ name }) => name)));
    await this.catalog.replace(this.configured);
  }

  private prepare(config: Config): ConfiguredServers {
    return configuredServers({ ...this.serverParts, config, running: this.configured });
  }

  /** Ends the servers of a deleted or expired session, with their calls. The session may be created again. */
  async endSession({ principal, id, directory }: DeletedSession): Promise<void> {
    try {
      if (directory !== undefined) await this.pool.endIn(directory);
      await this.affinity.end({ principal, sessionId: id });
    } catch (error) {
      this.parts.logger.warn({ error, sessionId: id }, 'servers of a deleted session did not end cleanly');
    }
  }

  private details(): ProcessInfo['details'] {
    const census = this.pool.census();
    return {
      isolation: this.isolationLevels().join(', '),
      workspaces: this.parts.workspacesMark ?? null,
      servers: this.catalog.states().map((server) => {
        const configured = this.configured.servers.find(({ name }) => name === server.name);
        return { ...server, ...(configured === undefined ? {} : reportServer(configured, census, this.vitals)) };
      }),
    };
  }

  /** Undefined for servers that keep no state of a session. */
  private sessionTtlMs(name: string): number | undefined {
    const server = this.pool.server(name);
    return server?.scope === 'session' ? server.idleTtlMs : undefined;
  }

  /** Takes no new jobs. Resolves when the running ones have ended; rejects if the signal aborts first. */
  async drain(signal: AbortSignal): Promise<void> {
    const { backing, registry, logger } = this.parts;
    await registry.leave().catch((error: unknown) => {
      logger.warn({ error }, 'gateways could not be told that this worker stops');
    });
    await announceCatalog({ channels: backing.channels, logger });
    await this.jobs.drain(signal);
  }

  /** Calls that still run are left to the journal: safe ones run again elsewhere, others become indeterminate. */
  async close(): Promise<void> {
    const listed = this.catalog.close();
    await this.jobs.close();
    await this.announcements.close();
    await listed;
    await this.pool.close();
    await this.places.close();
    await (await this.egress)?.close();
    await this.affinity.close();
    await this.outcomes.close();
    await this.parts.registry.close();
  }
}
