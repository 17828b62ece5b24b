// A gateway's tool side and a worker in one process, on a database of their own: real queue, real journal, real MCP.
import { AuditNotes } from '#libs/audit/audit-notes.js';
import { CallTokenKeys } from '#libs/access/call-token-keys.js';
import { CallTokenMint } from '#libs/access/call-tokens.js';
import { StatementMint } from '#libs/access/identity/caller-statement.js';
import { IdentityKeys } from '#libs/access/identity/identity-keys.js';
import { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { WaitStore } from '#libs/waits/wait-store.js';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { readConfig } from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { PostgresSessionLeases } from '#libs/runs/sessions/session-leases.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { startRedis } from './services/start-redis.js';
import { createMigratedDatabase } from './services/test-database.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { ApprovalRoom } from '../../apps/gateway/govern/approval-room.js';
import { Waits } from '../../apps/gateway/govern/waits.js';
import { OfferRequests } from '../../apps/gateway/mcp/offers/offer-requests.js';
import { ResourceFollowers } from '../../apps/gateway/mcp/offers/resource-followers.js';
import { DirectCalls } from '../../apps/gateway/turn/dispatch/call-tool.js';
import { argumentBounds, CompiledArgumentValidator } from '../../apps/gateway/tools/compiled-argument-validator.js';
import { MemoryToolCatalog } from '../../apps/gateway/tools/memory-tool-catalog.js';
import { ToolsetCatalog } from '../../apps/gateway/tools/toolset-catalog.js';
import { KeyedToolCalls } from '../../apps/gateway/turn/dispatch/keyed-tool-calls.js';
import type { TaskCalls } from '../../apps/gateway/mcp/tasks/task-calls.js';
import { ToolPolicy } from '../../apps/gateway/govern/tool-policy.js';
import { LateCancels } from '../../apps/gateway/turn/dispatch/late-cancels.js';
import { dispatchLimits, QueuedToolRunner } from '../../apps/gateway/turn/dispatch/queued-tool-runner.js';
import { Worker } from '../../apps/worker/worker.js';
import { findTestIsolation } from './isolation.js';
import { openTurns } from './open-turns.js';
import { ProbeTools } from './probe-tools.js';

export interface Services {
  url: string;
  /** The environment for further processes that share these services. */
  environment: Record<string, string>;
  config: Config;
  backing: Backing;
  database: Database;
  journal: PostgresJournal;
  rows<Row>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** `file`: the text of a signalbox.yaml. */
export async function openServices(overrides: Record<string, string> = {}, file = ''): Promise<Services> {
  const { url, drop } = await createMigratedDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'queue-path-'));
  const environment = { DATA_DIR: dataDir, DATABASE_URL: url, POLICY_DEFAULT: 'allow', ...overrides };
  const config = readConfig({ environment, file: { path: 'signalbox.yaml', text: file } });
  const { timeout_ms: timeoutMs } = config.database;
  const database = openDatabase({ url, poolSize: 5, timeoutMs, applicationName: 'test' });
  const redis = inject('backing') === 'redis' ? await startRedis() : undefined;
  const backing = await openBacking({
    databaseUrl: url,
    poolSize: 6,
    timeoutMs,
    ...(redis && { redisUrl: redis.url }),
  });
  // A pool, because tests run queries concurrently.
  const direct = new pg.Pool({ connectionString: url, max: 1 });
  // The pool counts as ended before its connection is closed, which the end of the database may do first.
  direct.on('error', () => undefined);
  return {
    url,
    environment: { DATABASE_URL: url, DATA_DIR: dataDir, ...(redis && { REDIS_URL: redis.url }) },
    config,
    backing,
    database,
    journal: new PostgresJournal(database),
    rows: async <Row>(sql: string, values: unknown[] = []) => (await direct.query(sql, values)).rows as Row[],
    close: async () => {
      await direct.end();
      await backing.close();
      await database.close();
      await drop();
      await redis?.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export interface TestGateway {
  id: string;
  runner: QueuedToolRunner;
  catalog: MemoryToolCatalog;
  policy: ToolPolicy;
  calls: DirectCalls;
  offerRequests: OfferRequests;
  followers: ResourceFollowers;
  approvals: Waits;
  keyed: KeyedToolCalls;
  tasks: TaskCalls;
  close(): Promise<void>;
}

export async function openGateway(services: Services): Promise<TestGateway> {
  const { backing, config, database } = services;
  const writes = new StoreWrites(database);
  const sessions = new PostgresSessionStore(database, { idleTtlMs: config.workspaces.idle_ttl_ms, writes });
  const journal = new PostgresJournal(database, writes, sessions);
  const id = `gw_${randomBytes(4).toString('hex')}`;
  const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
  const { limits } = config;
  const lateCancels = new LateCancels({ journal, onDropped: () => undefined });
  const store = new WaitStore(database);
  const sampling = { answer: async () => undefined, open: (ids: readonly string[]) => store.open(ids) };
  const approval = { expiresMs: config.approvals.expires_ms, notify: false };
  const metrics = createMetrics({ processMetrics: false });
  const measuring = { metrics, clocks: new TurnClocks(), logger: silentLogger };
  const notes = new AuditNotes(database, { audit: true });
  const runner = new QueuedToolRunner({
    lateCancels,
    waits: store,
    approval,
    sampling,
    gatewayId: id,
    backing,
    journal,
    sessions,
    registry,
    limits: dispatchLimits(config),
    measuring: { ...measuring, logContent: false },
    onCacheLookup: () => undefined,
    fileIdentity: async () => undefined,
    logger: silentLogger,
  });
  const catalog = new MemoryToolCatalog(new PostgresCatalogStore(database), backing.channels, silentLogger);
  const sets = new ToolsetCatalog(catalog, new Toolsets(config.toolsets));
  const policy = new ToolPolicy(config, sets, () => undefined);
  const { decide, deniedTool, catalogOf, mayUse } = policy;
  const validator = new CompiledArgumentValidator(argumentBounds(config), silentLogger);
  const approvalRoom = new ApprovalRoom({ store, settings: approval, limit: limits.waiting_approvals, metrics });
  const approvals = new Waits({
    store,
    announcements: new WaitAnnouncements({ store, channels: backing.channels, logger: silentLogger }),
    catalog,
    validator,
    decide,
    webhook: undefined,
    clocks: new TurnClocks(),
    onEnded: () => undefined,
    onDecided: () => undefined,
    logger: silentLogger,
  });
  const calls = new DirectCalls({
    catalog,
    validator,
    decide,
    deniedTool,
    approvalRoom,
    approvals: { store, questions: sampling, waits: approvals },
    journal,
    notes,
    runner,
    lateCancels,
  });
  const ofRequests = { decide, mayUse, journal, notes, runner, lateCancels };
  const offerRequests = new OfferRequests({ ...ofRequests, calls, waits: store });
  const followers = new ResourceFollowers({ channels: backing.channels, offerRequests, logger: silentLogger });
  const opened = openTurns(id, services, {
    approvals,
    approvalRoom,
    waitStore: store,
    questions: sampling,
    journal,
    runner,
    catalogOf,
    validator,
    decide,
    deniedTool,
    measuring,
    notes,
  });
  const keyed = new KeyedToolCalls({
    calls,
    turns: opened.turns,
    catalog,
    approvals: store,
    decisions: approvals,
    journal,
    questions: sampling,
  });
  await Promise.all([runner.start(), catalog.start(), approvals.start(), followers.start()]);
  return {
    id,
    runner,
    catalog,
    policy,
    calls,
    offerRequests,
    followers,
    approvals,
    keyed,
    tasks: opened.tasks,
    close: async () => {
      await opened.close();
      await followers.close();
      await approvals.close();
      await runner.close();
      await lateCancels.close();
      await catalog.close();
    },
  };
}

export interface TestWorker {
  id: string;
  worker: Worker;
  server: ToolServer;
  probe: ProbeTools;
  /** May be called more than once. */
  close(): Promise<void>;
}

export async function openWorker(services: Services, dataDir = services.config.data_dir): Promise<TestWorker> {
  const { backing, database, journal } = services;
  const config = { ...services.config, data_dir: dataDir };
  const id = `wk_${randomBytes(4).toString('hex')}`;
  const probe = new ProbeTools();
  const { max_bytes: maxBytes, max_files: maxFiles, max_depth: maxDepth } = config.workspaces;
  const workspaces = await Workspaces.open(join(dataDir, 'workspaces'), { maxBytes, maxFiles, maxDepth });
  const server = createMcpServer(probe, {
    logger: silentLogger,
    openWorkspace: (call) => workspaces.workspace({ id: call.sessionId, directory: call.workspaceDirectory }),
  });
  const worker = new Worker({
    configDirectory: process.cwd(),
    workerId: id,
    config,
    backing,
    journal,
    sessions: new PostgresSessionStore(database, { idleTtlMs: config.workspaces.idle_ttl_ms }),
    leases: new PostgresSessionLeases(database),
    catalog: new PostgresCatalogStore(database),
    waits: new WaitStore(database),
    registry: new PostgresProcessRegistry(database, { logger: silentLogger }),
    workspaces,
    isolation: await findTestIsolation(),
    builtins: new Map([['workspace', server]]),
    callTokens: new CallTokenMint(new CallTokenKeys(database)),
    statements: new StatementMint({ keys: new IdentityKeys(database), issuer: 'http://signalbox.test' }),
    logger: silentLogger,
  });
  await worker.start();
  let closing: Promise<void> | undefined;
  return {
    id,
    worker,
    server,
    probe,
    close: () =>
      (closing ??= (async () => {
        await worker.close();
        await server.close();
      })()),
  };
}

export interface QueuePath {
  services: Services;
  worker: TestWorker;
  gateway: TestGateway;
}

/** For the tests of a file: opened before its own `beforeAll`, closed after its own `afterAll`. */
export function queuePathOfFile(overrides: Record<string, string> = {}, file = ''): QueuePath {
  const path: Partial<QueuePath> = {};
  beforeAll(async () => {
    path.services = await openServices(overrides, file);
    path.worker = await openWorker(path.services);
    path.gateway = await openGateway(path.services);
  });
  afterAll(async () => {
    await path.gateway?.close();
    await path.worker?.close();
    await path.services?.close();
  });
  return path as QueuePath;
}

export function requestContext(given: Partial<RequestContext> = {}): StoppableContext {
  const gone = new AbortController();
  return {
    principal: 'local',
    requestId: `req_${randomBytes(4).toString('hex')}`,
    signal: gone.signal,
    abort: (reason) => gone.abort(reason),
    deadline: new Deadline(steadyNow() + 30_000),
    ...given,
  };
}
