// Chimech as a process of its own, over HTTP: /mcp, health and metrics on one port. It runs without Nest's container, which
// alone would take a third of the memory that this process may have (docs/adr/0011).
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '#libs/config/check-config.js';
import { ConfigError } from '#libs/config/config-error.js';
import type { Config } from '#libs/config/schema.js';
import { Health } from '#libs/health/health.js';
import { openMetricsPort } from '#libs/health/metrics-port.js';
import { OperatorAccess, operatorRequest } from '#libs/health/operator-access.js';
import type { OpenLogger } from '#libs/logging/open-logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { serveOverHttp, type ServedPage } from '#libs/mcp-server/serve-over-http.js';
import { createChimechMetrics, type ChimechMetrics } from '#libs/metrics/chimech-metrics.js';
import type { RunningProcess } from '#libs/process/run-process.js';
import type { FinishedCall } from './calls/tool-calls.js';
import { CallerKeys } from './keys/caller-keys.js';
import { isRotationDue, watchKeyAge } from './keys/key-age.js';
import { MemoryCache } from './memory-cache.js';
import { type OpenChimech, openChimech } from './open-chimech.js';

const json = 'application/json; charset=utf-8';
const maxSessions = 1_000;
const scrapeMs = 2_000;

/** @throws ConfigError if it could be reached from other machines without a key */
export async function startChimech(config: Config, logger: OpenLogger): Promise<RunningProcess> {
  const { chimech: settings, server, metrics: access } = config;
  refuseOpenDoor(config);
  const age = { createdAt: settings.api_keys_created_at, rotationDays: settings.api_key_rotation_days };
  const chimech: OpenChimech = openChimech(config, { logger, onEnd: (call) => count(metrics, call) });
  const metrics = createChimechMetrics({
    rotationDue: () => isRotationDue(age),
    kbDocuments: () => chimech.knowledge.countDocuments(AbortSignal.timeout(scrapeMs)).catch(() => undefined),
  });
  const keys = new CallerKeys(settings.api_keys);
  const health = new Health('chimech', [
    { name: 'gateway', check: async (signal) => chimech.gateway.ping(signal).then(() => ({ status: 'ok' })) },
  ]);
  const operators = new OperatorAccess(access.token);
  const mcp = createMcpServer(chimech.tools, { logger, cache: new MemoryCache(), prompts: chimech.templates });
  const pages: Record<string, (request: IncomingMessage) => Promise<ServedPage>> = {
    '/health/live': async () => ({ status: 200, contentType: json, text: '{"status":"ok"}' }),
    '/health/ready': async () => {
      const report = await health.ready();
      const status = report.status === 'unavailable' ? 503 : 200;
      return { status, contentType: json, text: JSON.stringify(report) };
    },
  };
  const scrape = { contentType: metrics.registry.contentType, text: () => metrics.registry.metrics() };
  if (access.port === undefined) {
    pages['/metrics'] = async (request) => {
      operators.admit(operatorRequest(request));
      return { status: 200, contentType: scrape.contentType, text: await scrape.text() };
    };
  }
  const onRefused = (limit: string) => metrics.rateLimited.inc({ limit });
  const stopWatching = watchKeyAge(age, logger);
  const serving = await serveOverHttp(mcp, {
    logger,
    host: server.host,
    port: settings.port,
    allowedHosts: server.allowed_hosts,
    allowedOrigins: server.allowed_origins,
    stuckReaderMs: server.stuck_reader_ms,
    maxSessions,
    authenticate: (request) => keys.identify(request),
    pages,
    onRefused,
  }).catch(async (error: unknown) => {
    stopWatching();
    await chimech.close();
    throw error;
  });
  const metricsPort = await openMetricsPort(config, { scrape, access: operators, onBound: onRefused, logger });
  health.become('serving');
  void health.ready();
  const { port } = new URL(serving.url);
  logger.info({ metadata: { host: server.host, port: Number(port) } }, 'listening');
  return {
    async stop(graceMs) {
      health.become('stopping');
      stopWatching();
      await serving.close(graceMs);
      await Promise.allSettled([mcp.close(), chimech.close(), metricsPort?.close()]);
    },
  };
}

function refuseOpenDoor({ server, chimech }: Config): void {
  if (chimech.api_keys.length > 0 || isLoopback(server.host)) return;
  const message = `Chimech would listen on ${server.host} without a key: set CHIMECH_API_KEY, or listen on 127.0.0.1`;
  throw new ConfigError([{ key: 'chimech.api_keys', message }]);
}

function count(metrics: ChimechMetrics, { tool, outcome, code, ...call }: FinishedCall): void {
  metrics.toolCalls.inc({ tool, outcome, code: code ?? '' });
  metrics.toolDuration.observe({ tool }, call.durationMs / 1_000);
  metrics.overhead.observe({ tool }, Math.max(0, call.durationMs - call.gatewayMs) / 1_000);
  if (call.tokensUsed > 0) metrics.tokens.inc(call.tokensUsed);
}
