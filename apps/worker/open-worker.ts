// Opens the parts of a worker and connects them: store, backing services, workspaces, builtin servers, reaper, sweeper.
import { randomBytes } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { CallTokenKeys } from '#libs/access/call-token-keys.js';
import { CallTokenMint } from '#libs/access/call-tokens.js';
import { StatementMint } from '#libs/access/identity/caller-statement.js';
import { IdentityKeys } from '#libs/access/identity/identity-keys.js';
import { WaitStore } from '#libs/waits/wait-store.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import { configurationFiles } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { listenForConnections } from '#libs/connections/connection-announcements.js';
import { ConnectionStore } from '#libs/connections/connection-store.js';
import { ConnectionTokens } from '#libs/connections/connection-tokens.js';
import { openVault, type Vault } from '#libs/connections/vault.js';
import { workspacesDirectory } from '#libs/config/workspaces-directory.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { poolSizes } from '#libs/postgres/pool-sizes.js';
import {
  isolationCheck,
  pingCheck,
  serversCheck,
  sharedWorkspacesCheck,
  spoolCheck,
  workspacesCheck,
} from '#libs/health/checks.js';
import type { HealthCheck } from '#libs/health/health.js';
import type { Logger } from '#libs/logging/logger.js';
import type { GaugeSources } from '#libs/metrics/collect-gauges.js';
import { listenForDeleted, announceDeleted } from '#libs/runs/sessions/deleted-sessions.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { Reaper, type ReapedCall, reaperTimes } from '#libs/runs/processes/reaper.js';
import { PostgresSessionLeases } from '#libs/runs/sessions/session-leases.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { AppError } from '#libs/schemas/errors.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { createWorkspaceServer } from './builtin/workspace-server.js';
import { ReplySender } from './jobs/reply-sender.js';
import { importModules } from './import-modules.js';
import { openOwnServers } from './open-own-servers.js';
import { OwnToolsModule } from './own-tools.module.js';
import type { ServerCredentials } from './mcp/servers/server-access.js';
import { Isolation } from './sandbox/isolation.js';
import { countToolProcesses } from './sandbox/tool-process.js';
import { Worker, type WorkerParts } from './worker.js';
import { Sweeper } from './workspace/sweeper.js';
import { WorkspaceMeter } from './workspace/workspace-meter.js';

export interface OpenWorker {
  worker: Worker;
  checks: HealthCheck[];
  gauges: GaugeSources;
  start(): Promise<void>;
  /** Calls that still run are left to the journal. */
  close(): Promise<void>;
}

/** @throws AppError store_unavailable */
export async function openWorker(
  config: Config,
  logger: Logger,
  hooks: Pick<WorkerParts, 'faults' | 'onEgress' | 'onToolChange' | 'poolEvents'> = {},
): Promise<OpenWorker> {
  const { url } = config.database;
  if (url === undefined)
    throw new AppError('store_unavailable', 'DATABASE_URL is not set; `npm start` runs its own PostgreSQL');
  // Refuses to start before anything is open.
  const vault = openVault(config);
  const id = `wk_${randomBytes(8).toString('hex')}`;
  const { timeout_ms: timeoutMs } = config.database;
  const { max_bytes: maxBytes, max_files: maxFiles, max_depth: maxDepth, min_free_bytes } = config.workspaces;
  const bounds = { maxBytes, maxFiles, maxDepth, minFreeBytes: min_free_bytes };
  const directory = workspacesDirectory(config);
  // After a lapse of this worker's heartbeat, other workers may use its sessions.
  const isOurs = (since: number) => (registry.heldSince() ?? Infinity) <= since;
  // The next steps may fail, so they come before anything that must be closed.
  const workspaces = await Workspaces.open(directory.path, bounds, isOurs);
  const files = configurationFiles();
  const configDirectory = dirname(files[0]!);
  const unreadable = [...files, resolve('.env'), join(configDirectory, '.env')];
  const modules = [OwnToolsModule, ...(await importModules(config.worker.modules))];
  const isolation = await Isolation.find({
    path: inheritedEnvironment()['PATH'] ?? '',
    maxFileBytes: maxBytes,
    allowUnsandboxed: config.isolation.allow_unsandboxed,
    logger,
  });
  isolation.report(config.isolation.minimum);
  const pools = poolSizes(config);
  const database = openDatabase({ url, poolSize: pools.store, timeoutMs, applicationName: id });
  const backing = await openBacking({
    databaseUrl: url,
    poolSize: pools.backing,
    timeoutMs,
    applicationName: id,
    logger,
    ...(config.redis.url === undefined ? {} : { redisUrl: config.redis.url }),
  }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const audit = { audit: config.audit.enabled };
  const writes = new StoreWrites(database, audit);
  const leases = new PostgresSessionLeases(database);
  const sessions = new PostgresSessionStore(database, {
    idleTtlMs: config.workspaces.idle_ttl_ms,
    writes,
    onDeleted: announceDeleted({ channels: backing.channels, leases, logger }),
  });
  const registry = new PostgresProcessRegistry(database, { logger });
  const workspaceServer = createWorkspaceServer({
    workspaces,
    logger,
    cache: backing.cache,
    maxResultBytes: config.tools.max_result_bytes,
    fetchAllow: config.tools.fetch_allow,
  });
  const own = await openOwnServers(modules, [workspaceServer.name], {
    logger,
    cache: backing.cache,
    openWorkspace: (call) => workspaces.workspace({ id: call.sessionId, directory: call.workspaceDirectory }),
  });
  const worker = new Worker({
    workerId: id,
    config,
    backing,
    journal: new PostgresJournal(database, writes),
    sessions,
    leases,
    catalog: new PostgresCatalogStore(database, audit),
    waits: new WaitStore(database, audit),
    callTokens: new CallTokenMint(new CallTokenKeys(database)),
    connections: vault && openConnections(database, vault, config),
    statements: new StatementMint({ keys: new IdentityKeys(database), issuer: publicAddress(config.server) }),
    registry,
    workspaces,
    workspacesMark: await workspaces.mark().catch(() => undefined),
    isolation,
    unreadable,
    configDirectory,
    builtins: new Map([workspaceServer, ...own.servers].map((server) => [server.name, server])),
    ...hooks,
    logger,
  });
  const replies = new ReplySender(backing.channels, logger);
  const reaper = new Reaper({
    database,
    queue: backing.queue,
    logger,
    publishOutcome: ({ callId, replyTo, outcome }: ReapedCall) => {
      if (replyTo !== undefined) replies.send(replyTo, { kind: 'outcome', callId, outcome });
    },
    ...reaperTimes(config),
    ...audit,
  });
  const sweeper = new Sweeper({ sessions, workspaces, logger, intervalMs: config.workspaces.sweep_interval_ms });
  const meter = new WorkspaceMeter({ workspaces, logger });
  const listening: (() => Promise<void>)[] = [];

  return {
    worker,
    checks: [
      pingCheck('store', (signal) => database.ping(signal)),
      pingCheck('queue', (signal) => backing.ping(signal)),
      serversCheck(async () => Object.fromEntries(worker.catalog.states().map(({ name, state }) => [name, state]))),
      isolationCheck(async () => worker.isolationLevels()),
      workspacesCheck({ workspaces, directory, logger }),
      sharedWorkspacesCheck({ workspaces, registry, directory, logger }),
      spoolCheck(() => ({ rows: worker.outcomes.spool.rows, hasRoom: worker.outcomes.canKeep(0) })),
    ],
    gauges: {
      queue: (signal) => backing.queue.counts(signal),
      sessions: () => sessions.count(),
      workspaceBytes: async () => meter.bytes,
      workspaceFreeBytes: () => workspaces.space.bytes(),
      mcpServers: async () => countStates(worker),
      mcpProcesses: () => countToolProcesses(),
      mcpInstances: async () => worker.instances(),
      isolationLevels: async () => worker.isolationOfServers(),
      serversBelowIsolation: async () => worker.countBelowIsolation(),
      auditSpoolRows: async () => worker.outcomes.spool.rows,
    },
    start: async () => {
      listening.push(
        await listenForDeleted(backing.channels, (session) => {
          sessions.forget(session);
          void worker.endSession(session);
        }),
      );
      if (vault !== undefined) {
        listening.push(await listenForConnections(backing.channels, (key) => worker.catalog.reconnect(key)));
      }
      await worker.start();
      reaper.start();
      sweeper.start();
      meter.start();
    },
    close: async () => {
      await Promise.allSettled([reaper.close(), sweeper.close(), meter.close()]);
      try {
        for (const stop of listening) await stop();
        await worker.close();
        await workspaceServer.close();
        await own.close();
      } finally {
        await backing.close();
        await database.close();
      }
    },
  };
}

function openConnections(database: Database, vault: Vault, { audit, tools }: Config): ServerCredentials {
  const store = new ConnectionStore(database, { audit: audit.enabled });
  return { store, tokens: new ConnectionTokens({ store, vault, allow: tools.fetch_allow }) };
}

function countStates(worker: Worker): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of worker.catalog.states()) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
