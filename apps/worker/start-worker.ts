// The worker's process: runs tools, and serves health and metrics over HTTP.
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { readFaults } from '#libs/config/fault-points.js';
import { openConfigReader } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { migrate } from '#libs/postgres/migrate.js';
import { configurationCheck } from '#libs/health/checks.js';
import { Health } from '#libs/health/health.js';
import { openMetricsPort } from '#libs/health/metrics-port.js';
import { OperationsModule } from '#libs/health/operations.module.js';
import { OperatorAccess } from '#libs/health/operator-access.js';
import { boundPipelines, boundServer } from '#libs/http-server/connections.js';
import { ignoreExpectations, refusalHandlers } from '#libs/http-server/refused-requests.js';
import type { OpenLogger } from '#libs/logging/open-logger.js';
import { NestLog } from '#libs/logging/nest-log.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { Scrape } from '#libs/metrics/scrape.js';
import { ConfigurationReloads } from '#libs/process/configuration-reloads.js';
import { listeningPort } from '#libs/process/listening-port.js';
import type { RunningProcess } from '#libs/process/run-process.js';
import { tracing } from '#libs/tracing/tracing.js';
import { databaseUrl } from '#libs/config/addresses/database-url.js';
import { openWorker } from './open-worker.js';
import { WorkerErrorFilter } from './worker-error.filter.js';

const migrationMs = 60_000;
/** How often the worker checks whether the program of a refused server has been installed. */
const lookAgainMs = 2_000;

export async function startWorker(
  config: Config,
  logger: OpenLogger,
  reader = openConfigReader(),
): Promise<RunningProcess> {
  await migrate(databaseUrl(config), { signal: AbortSignal.timeout(migrationMs) });
  const metrics = createMetrics({ exemplars: tracing !== undefined });
  if (tracing !== undefined) tracing.onDropped = (reason, spans) => metrics.traceSpansDropped.inc({ reason }, spans);
  const faults = readFaults();
  const opened = await openWorker(config, logger, {
    ...(faults === undefined ? {} : { faults }),
    onEgress: (server, outcome) => metrics.egressConnections.inc({ server, outcome }),
    onToolChange: (grade, outcome) => metrics.toolChanges.inc({ grade, outcome }),
    poolEvents: {
      onConnect: (server, outcome) => metrics.mcpConnects.inc({ server, outcome }),
      onClosed: (server, reason) => metrics.mcpClosed.inc({ server, reason }),
      onRefused: (server, reason) => metrics.mcpRefused.inc({ server, reason }),
      onBound: (server, bound) => metrics.mcpBounds.inc({ server, bound }),
    },
  });
  const reloads = new ConfigurationReloads({
    started: config,
    reader,
    apply: ({ mcpServers }) => opened.worker.reconfigure(mcpServers),
    strikeOut: logger.strikeOut,
    onOutcome: (outcome) => metrics.configReloads.inc({ outcome }),
    logger,
  });
  const health = new Health('worker', [...opened.checks, configurationCheck(() => reloads.problem)]);
  const scrape = new Scrape(metrics, opened.gauges);
  const access = new OperatorAccess(config.metrics.token);
  const adapter = new FastifyAdapter({
    ...refusalHandlers(logger, (error) => metrics.countError(error)),
    forceCloseConnections: true,
  });
  const fastify: FastifyInstance = adapter.getInstance();
  ignoreExpectations(fastify.server);
  const onBound = (limit: string) => metrics.rateLimited.inc({ limit });
  boundServer(fastify.server, { stuckReaderMs: config.server.stuck_reader_ms, onBound, logger });
  boundPipelines(fastify);
  const app = await NestFactory.create<NestFastifyApplication>(
    OperationsModule.of({ health, scrape: config.metrics.port === undefined ? scrape : undefined, access }),
    adapter,
    {
      logger: new NestLog(logger),
      abortOnError: false,
    },
  );
  app.useGlobalFilters(new WorkerErrorFilter(logger));
  try {
    await opened.start();
  } catch (error) {
    await Promise.allSettled([opened.close(), app.close()]);
    throw error;
  }
  const { host, worker_port } = config.server;
  await app.listen(worker_port, host);
  const metricsPort = await openMetricsPort(config, { scrape, access, onBound, logger });
  health.become('serving');
  // Run the checks once, so that problems are logged from the start.
  void health.ready();
  reloads.start();
  const lookAgain = setInterval(() => {
    if (reloads.problem === undefined && opened.worker.canServeMore())
      void reloads.request('the program of a tool server was installed');
  }, lookAgainMs).unref();
  logger.info({ metadata: { host, port: listeningPort(app.getHttpServer()) } }, 'listening');

  return {
    reload: () => void reloads.request('SIGHUP'),
    async stop(graceMs) {
      health.become('stopping');
      clearInterval(lookAgain);
      const settled = reloads.close();
      try {
        await opened.worker.drain(AbortSignal.timeout(graceMs));
      } catch (error) {
        logger.warn(
          { error, metadata: { running: opened.worker.running.size } },
          'calls still run after the grace time',
        );
      }
      await settled;
      await Promise.allSettled([opened.close(), app.close(), metricsPort?.close()]);
    },
  };
}
