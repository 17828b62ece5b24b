// The worker process: configuration, log, health door, work, and an orderly end: SIGTERM finishes what runs within the
// grace time, a second one ends at once.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { readFaults } from '#libs/config/fault-points.js';
import { loadConfig } from '#libs/config/load-config.js';
import { secretValues } from '#libs/config/secrets.js';
import { isSupervised } from '#libs/config/supervised.js';
import { migrate } from '#libs/database/migrate.js';
import { Health } from '#libs/health/health.js';
import { OperatorAccess } from '#libs/health/operator-access.js';
import { NestLog } from '#libs/logging/nest-log.js';
import { openLogger } from '#libs/logging/open-logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { Scrape } from '#libs/metrics/scrape.js';
import { endWithParent } from '#libs/process/end-with-parent.js';
import { openWorker } from './open-worker.js';
import { WorkerErrorFilter } from './worker-error.filter.js';
import { WorkerModule } from './worker.module.js';

const CLOSE_TIMEOUT_MS = 5_000;

const config = loadConfig();
const logger = await openLogger({ service: 'worker', level: config.log.level, secrets: secretValues(config) });
const failed = (error: unknown): never => {
  logger.error({ error }, 'the worker cannot go on');
  logger.flush();
  process.exit(1);
};

const starting = new AbortController();
if (config.database.url !== undefined) {
  await migrate(config.database.url, { signal: starting.signal }).catch(failed);
}
const opened = await openWorker(config, logger, readFaults()).catch(failed);
const health = new Health('worker', opened.checks);
const scrape = new Scrape(createMetrics(), opened.gauges);
const access = new OperatorAccess(config.metrics.token);
const app = await NestFactory.create<NestFastifyApplication>(
  WorkerModule.of({ health, scrape, access }),
  new FastifyAdapter({ forceCloseConnections: true }),
  { logger: new NestLog(logger) },
);
app.useGlobalFilters(new WorkerErrorFilter(logger));

let stopping = false;
async function stop(reason: string): Promise<void> {
  if (stopping) {
    logger.warn({ metadata: { reason } }, 'the worker ends at once');
    logger.flush();
    process.exit(0);
  }
  stopping = true;
  health.become('stopping');
  logger.info({ metadata: { reason, running: opened.worker.running.size } }, 'the worker stops');
  try {
    await opened.worker.drain(AbortSignal.timeout(config.server.shutdown_grace_ms));
  } catch (error) {
    logger.warn({ error, metadata: { running: opened.worker.running.size } }, 'calls still run after the grace time');
  }
  // Whatever hangs now has had its time.
  setTimeout(() => process.exit(0), CLOSE_TIMEOUT_MS).unref();
  await Promise.allSettled([opened.close(), app.close()]);
  logger.info({}, 'the worker has stopped');
  logger.flush();
  process.exit(0);
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
if (isSupervised()) {
  const deadlineMs = config.server.shutdown_grace_ms + CLOSE_TIMEOUT_MS;
  endWithParent({ stop: (reason) => void stop(reason), deadlineMs });
}

await opened.start().catch(failed);
await app.listen(config.server.worker_port, config.server.host).catch(failed);
health.become('serving');
logger.info({ metadata: { url: await app.getUrl() } }, 'the worker is ready');
