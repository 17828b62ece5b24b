// Starts the gateway's process and its HTTP server: Fastify under Nest, with a hook before every route.
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { FailedSignIns } from '#libs/access/failed-sign-ins.js';
import { checkExposure } from '#libs/config/addresses/check-exposure.js';
import { databaseUrl } from '#libs/config/addresses/database-url.js';
import { openConfigReader } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { workspacesDirectory } from '#libs/config/workspaces-directory.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { migrate } from '#libs/postgres/migrate.js';
import {
  configurationCheck,
  isolationCheck,
  modelsCheck,
  pingCheck,
  serversCheck,
  sharedWorkspacesCheck,
  workersCheck,
  workspacesCheck,
} from '#libs/health/checks.js';
import { Health } from '#libs/health/health.js';
import { openMetricsPort } from '#libs/health/metrics-port.js';
import { OperatorAccess } from '#libs/health/operator-access.js';
import { OperationsModule } from '#libs/health/operations.module.js';
import { ignoreExpectations, refusalHandlers } from '#libs/http-server/refused-requests.js';
import type { Logger } from '#libs/logging/logger.js';
import type { OpenLogger } from '#libs/logging/open-logger.js';
import { NestLog } from '#libs/logging/nest-log.js';
import type { McpEndpoint } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { RunTasks } from '#libs/runs/listing/run-tasks.js';
import { reaperTimes } from '#libs/runs/processes/reaper.js';
import type { AppError } from '#libs/schemas/errors.js';
import { createMetrics, type Metrics } from '#libs/metrics/metrics.js';
import { Scrape } from '#libs/metrics/scrape.js';
import { ConfigurationReloads } from '#libs/process/configuration-reloads.js';
import { listeningPort } from '#libs/process/listening-port.js';
import type { RunningProcess } from '#libs/process/run-process.js';
import { tracing } from '#libs/tracing/tracing.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { type Gateway, openGateway } from './gateway.js';
import { type OnRequestParts, registerOnRequest } from './http/on-request.js';
import { GatewayModule } from './gateway.module.js';
import { Authentication } from './http/admin/authenticate.js';
import { LimitRequests } from './http/admin/limit-requests.js';
import { AppErrorFilter } from './http/app-error.filter.js';
import { serveAppFrame } from './http/apps/app-frame.js';
import { serveConsole } from './http/console/serve-console.js';
import { serveSignInPages } from './http/connections/sign-in-pages.js';
import { registerDirectRoutes } from './http/turns/direct-routes.js';
import { registerFileUploads } from './http/files/file-uploads.js';
import { controllersOf, setupOpenApi } from './http/openapi/open-api.js';
import { serveProtectedResource } from './http/mcp/protected-resource.js';
import { McpController } from './http/mcp/mcp.controller.js';
import { TurnAdmission, turnsOfPrincipal } from './govern/turn-admission.js';
import { openGatewayEndpoint } from './mcp/gateway-server.js';
import { TaskCalls } from './mcp/tasks/task-calls.js';
import { boundServer } from '#libs/http-server/connections.js';
import { parseBody } from '#libs/http-server/parse-body.js';

const migrationMs = 60_000;

export async function startGateway(
  config: Config,
  logger: OpenLogger,
  reader = openConfigReader(),
): Promise<RunningProcess> {
  const metrics = createMetrics({ exemplars: tracing !== undefined });
  if (tracing !== undefined) tracing.onDropped = (reason, spans) => metrics.traceSpansDropped.inc({ reason }, spans);
  // Opening workspaces may fail, so it comes before anything that must be closed.
  const { workspaces, directory, check } = await openWorkspaces(config, logger);
  await migrate(databaseUrl(config), { signal: AbortSignal.timeout(migrationMs) });
  const gateway = await openGateway(config, logger, metrics, workspaces);
  try {
    await gateway.keyRing.start();
    checkExposure(config, gateway.keyRing.required);
    gateway.issuerTokens.tokenRing?.start();
  } catch (error) {
    await gateway.close();
    throw error;
  }
  const admission = new TurnAdmission({
    turns: config.limits.turns,
    principalTurns: turnsOfPrincipal(config.limits.principal_turns),
    places: gateway.places,
    budgets: gateway.usage.budgets,
    onRefused: (limit) => metrics.rateLimited.inc({ limit }),
  });
  const mcp = openMcp(gateway, config, logger, metrics);
  const notePolicy = policyNotes(gateway, logger);
  const reloads = new ConfigurationReloads({
    started: config,
    reader,
    apply: async (next) => {
      gateway.toolsets.replace(next.toolsets);
      gateway.policy.replace(next);
      noteUnmatched(gateway, logger);
      notePolicy(next);
      await Promise.all([gateway.connections.follow(next), gateway.issuerTokens.follow(next)]);
    },
    strikeOut: logger.strikeOut,
    onOutcome: (outcome) => metrics.configReloads.inc({ outcome }),
    logger,
  });
  notePolicy(config);
  const health = new Health('gateway', [
    ...healthChecks(gateway),
    check,
    sharedWorkspacesCheck({ workspaces, registry: gateway.registry, directory, logger }),
    configurationCheck(() => reloads.problem),
  ]);
  const access = new OperatorAccess(config.metrics.token);
  const scrape = new Scrape(metrics, {
    queue: (signal) => gateway.backing.queue.counts(signal),
    sessions: () => gateway.sessions.count(),
    toolChangesHeld: () => gateway.toolChanges.countPending(),
    approvals: () => gateway.waitStore.waiting(),
    budgets: async () => gateway.usage.budgets.used(),
    auditBroken: async () => gateway.auditKeeper?.isBroken,
    issuerKeysReadAt: async () => gateway.issuerTokens.tokenRing?.keysReadAt,
  });

  const adapter = new FastifyAdapter({
    ...refusalHandlers(logger, (error) => metrics.countError(error)),
    // The origin guard refuses requests without Host.
    http: { requireHostHeader: false },
    // Our own error answers requests during shutdown.
    return503OnClosing: false,
    bodyLimit: config.limits.body_bytes,
    // Long enough for large uploads over slow connections.
    requestTimeout: 600_000,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 8_192 },
  });
  const operations = OperationsModule.of({
    health,
    scrape: config.metrics.port === undefined ? scrape : undefined,
    access,
  });
  const filter = new AppErrorFilter(logger, (error) => metrics.countError(error));
  const configuration = { started: config, latest: () => reloads.latest };
  const parts = { config, configuration, gateway, workspaces, admission, mcp, logger, metrics, operations, filter };
  const module = GatewayModule.of({ ...parts, configFile: reader.path });
  const fastify: FastifyInstance = adapter.getInstance();
  const onBound = (limit: string) => metrics.rateLimited.inc({ limit });
  const connections = boundServer(fastify.server, { stuckReaderMs: config.server.stuck_reader_ms, onBound, logger });
  const failures = new FailedSignIns({
    perMinute: config.limits.failed_sign_ins_per_minute,
    counters: gateway.backing.counters,
    logger,
  });
  const authentication = new Authentication({
    ring: gateway.keyRing,
    tokens: gateway.issuerTokens.tokenRing,
    exchangesTokens: gateway.issuerTokens.exchangesTokens,
    callTokens: gateway.callTokens,
    store: gateway.keys,
    notes: gateway.notes,
    failures,
    onRefused: onBound,
    logger,
  });
  const rates = new LimitRequests({ rates: gateway.usage.rates, limits: config.limits, onRefused: onBound });
  prepare(fastify, { config, access, logger, authentication, rates });
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    logger: new NestLog(logger),
    abortOnError: false,
  });
  registerDirectRoutes(fastify, controllersOf(app), (controller) => app.get<object>(controller), filter);
  setupOpenApi(app);
  serveProtectedResource(fastify, config);
  fastify.get('/.well-known/jwks.json', async () => ({ keys: await gateway.identityKeys.toPublish() }));
  if (config.console.enabled) {
    serveConsole(fastify, config.auth.jwt);
    serveAppFrame(fastify, config.server.public_url);
  }
  const { connections: userConnections } = gateway;
  const observe = (error: AppError) => metrics.countError(error);
  serveSignInPages(fastify, { connections: userConnections, config, failures, onRefused: onBound, observe, logger });
  // Asks the providers now, so that the first report of health knows, and the log says what is wrong.
  void gateway.models.health(new AbortController().signal);
  try {
    await gateway.start();
  } catch (error) {
    await Promise.allSettled([gateway.close(), app.close()]);
    throw error;
  }
  const { host, port } = config.server;
  await app.listen(port, host);
  const metricsPort = await openMetricsPort(config, { scrape, access, onBound, logger });
  // Ready when tools run, or when no worker has come: plain chats need none.
  void gateway.firstCatalog.start().then(() => {
    health.become('serving');
    noteUnmatched(gateway, logger);
    // Run the checks once, so that problems are logged from the start.
    void health.ready();
  });
  reloads.start();
  logger.info({ metadata: { host, port: listeningPort(app.getHttpServer()) } }, 'listening');

  return {
    reload: () => void reloads.request('SIGHUP'),
    async stop(graceMs) {
      health.become('stopping');
      gateway.takeNoMore();
      await reloads.close();
      const mcpController = app.get(McpController);
      mcpController.stopWaiting();
      await admission.drain(graceMs);
      await mcpController.close();
      await gateway.close();
      connections.closeQuiet();
      await Promise.all([app.close(), metricsPort?.close()]);
    },
  };
}

/** Sets up what handles every request before Nest. */
export function prepare(fastify: FastifyInstance, parts: OnRequestParts): void {
  ignoreExpectations(fastify.server);
  registerOnRequest(fastify, parts);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  registerFileUploads(fastify);
}

function openMcp(gateway: Gateway, config: Config, logger: Logger, metrics: Metrics): McpEndpoint {
  const { limits } = config;
  const { catalogOf, mayUse, onChange } = gateway.policy;
  const tasks = new TaskCalls({
    ...gateway,
    tasks: new RunTasks(gateway.database),
    channels: gateway.backing.channels,
    keptMs: reaperTimes(config).runTtlMs,
    logger,
  });
  return openGatewayEndpoint(
    {
      ...gateway,
      catalog: gateway.sets,
      catalogOf,
      mayUse,
      onChange,
      calls: gateway.toolCalls,
      tasks,
      logger,
      observeError: (error) => metrics.countError(error),
      onRefused: (limit) => metrics.rateLimited.inc({ limit }),
      onEvicted: () => metrics.mcpSessionsEvicted.inc(),
    },
    {
      sessions: limits.mcp_sessions,
      sessionIdleMs: limits.mcp_session_idle_ms,
      subscriptions: limits.mcp_subscriptions,
    },
  );
}

/** A set is no error if its tools are not there: their server may come later. */
function noteUnmatched({ sets }: Gateway, logger: Logger): void {
  const toolsets = sets.unmatched();
  if (Object.keys(toolsets).length === 0) return;
  logger.warn({ metadata: { toolsets } }, 'entries of toolsets match no tool that is known at present');
}

/** Audits the policy that this gateway follows from now on, if the policy changed. */
function policyNotes({ id, notes }: Gateway, logger: Logger): (config: Config) => void {
  let inForce: string | undefined;
  return ({ policy }) => {
    const definitionHash = canonicalHash(policy);
    if (definitionHash === inForce) return;
    const state = inForce === undefined ? 'started' : 'replaced';
    inForce = definitionHash;
    const rules = policy.rules.map(({ name, effect }) => `${name}: ${effect}`);
    const about = { definitionHash, arguments: { default: policy.default, rules }, worker: id };
    notes
      .write({ kind: 'policy_change', state, success: true, ...about })
      .catch((error: unknown) => logger.warn({ error }, 'a change of the policy could not be audited'));
  };
}

async function openWorkspaces(config: Config, logger: Logger) {
  const { max_bytes: maxBytes, max_files: maxFiles, max_depth: maxDepth, min_free_bytes } = config.workspaces;
  const directory = workspacesDirectory(config);
  const bounds = { maxBytes, maxFiles, maxDepth, minFreeBytes: min_free_bytes };
  const workspaces = await Workspaces.open(directory.path, bounds);
  return { workspaces, directory, check: workspacesCheck({ workspaces, directory, logger }) };
}

function healthChecks({ database, backing, registry, toolServers, models }: Gateway) {
  const isolation = async () =>
    (await registry.alive('worker', 10_000)).flatMap(({ details: { isolation } }) =>
      // A worker lists all levels of its servers.
      typeof isolation === 'string' ? isolation.split(', ') : 'none',
    );
  return [
    pingCheck('store', (signal) => database.ping(signal)),
    pingCheck('queue', (signal) => backing.ping(signal)),
    workersCheck(registry),
    serversCheck(() => toolServers.states()),
    modelsCheck((signal) => models.health(signal)),
    isolationCheck(isolation),
  ];
}
