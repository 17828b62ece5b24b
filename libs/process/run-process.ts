// The life of one of our processes: configuration, log, and a start that waits while the store is unavailable. The first
// stop signal shuts it down in order, a second one immediately.
// SIGHUP rereads the configuration. Under `npm start` the process ends with its supervisor.
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '#libs/config/config-error.js';
import type { Config } from '#libs/config/schema.js';
import { knowSecrets } from '#libs/audit/known-secrets.js';
import { secretValues } from '#libs/config/secrets.js';
import { isSupervised } from '#libs/config/supervised.js';
import { openLogger, type OpenLogger } from '#libs/logging/open-logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { tracing, traceWith } from '#libs/tracing/tracing.js';
import { endWithParent } from './end-with-parent.js';

export interface RunningProcess {
  /** Reports not ready, takes no new work, and finishes work under way; settles soon after the grace time. */
  stop(graceMs: number): Promise<void>;
  /** Rereads the configuration; absent if the process does not support that. */
  reload?(): void;
}

/** Closes everything it opened before it rejects, because it may be called again. */
export type StartProcess = (config: Config, logger: OpenLogger) => Promise<RunningProcess>;

const startMs = 60_000;
const startPauseMs = 500;

export const closingMs = 5_000;

/** Grace time after losing the supervisor: its embedded database has ended too, and nobody will restart it. */
const orphanedGraceMs = 2_000;

/** Time for exporting the last spans: a collector that does not answer must not delay an exit. */
const lastSpansMs = 1_000;

export async function runProcess(service: string, load: () => Config, start: StartProcess): Promise<void> {
  const config = loadOrExit(load);
  const secrets = secretValues(config);
  knowSecrets(secrets);
  const logger = await openLogger({ service, level: config.log.level, secrets });
  await openTracing(service, config, logger);
  const exit = (code: number): never => {
    logger.flush();
    process.exit(code);
  };
  process.on('uncaughtException', (error) => {
    logger.error({ error }, 'uncaught error');
    exit(1);
  });
  process.on('unhandledRejection', (error) => {
    logger.error({ error }, 'unhandled rejection');
    exit(1);
  });

  let running: Promise<RunningProcess> | undefined;
  let stopping = false;
  const stop = (why: string, graceMs = config.server.shutdown_grace_ms): void => {
    if (stopping) {
      logger.warn({}, `${why} again: ending now`);
      exit(1);
    }
    stopping = true;
    logger.info({}, `stopping: ${why}`);
    setTimeout(() => {
      logger.error({}, 'the stop took longer than its grace time');
      exit(1);
    }, graceMs + closingMs).unref();
    const end = async () => {
      try {
        await (await running)?.stop(graceMs);
      } finally {
        await tracing?.close(lastSpansMs);
      }
    };
    end().then(
      () => {
        logger.info({}, 'stopped');
        exit(0);
      },
      (error: unknown) => {
        logger.error({ error }, 'the stop failed');
        exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  process.on('SIGHUP', () => {
    void running?.then(
      ({ reload }) => {
        if (reload === undefined) logger.info({}, `SIGHUP: the ${service} reads its configuration only when it starts`);
        else reload();
      },
      () => undefined,
    );
  });
  if (isSupervised()) {
    const graceMs = Math.min(orphanedGraceMs, config.server.shutdown_grace_ms);
    endWithParent({ stop: (why) => stop(why, graceMs), deadlineMs: graceMs + closingMs });
  }

  running = withPatience(
    () => start(config, logger),
    (error) => {
      if (!stopping) logger.warn({ error }, `${service} waits for its store`);
      return !stopping;
    },
  );
  try {
    await running;
  } catch (error) {
    logger.error({ error }, `${service} cannot start`);
    exit(1);
  }
}

/** Without an endpoint the SDK is not even loaded. */
async function openTracing(service: string, { telemetry }: Config, logger: OpenLogger): Promise<void> {
  const { otlp_endpoint: endpoint, otlp_headers: headers } = telemetry;
  if (endpoint === undefined) return;
  const sdk = await import('#libs/tracing/open-tracing.js');
  traceWith(sdk.openTracing({ service, endpoint, headers, logger }));
}

/** Starts again while the store is away, for a minute, if `again` agrees. */
export async function withPatience<T>(start: () => Promise<T>, again: (error: AppError) => boolean): Promise<T> {
  const until = performance.now() + startMs;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      const away = error instanceof AppError && error.code === 'store_unavailable';
      if (!away || performance.now() > until || !again(error)) throw error;
      await delay(startPauseMs);
    }
  }
}

export function loadOrExit(load: () => Config): Config {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
