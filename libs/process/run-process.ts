// The life of one of our processes: configuration, log, start, which waits for a store that is away or busy; then one
// signal stops it in order, a second one at once.
// SIGHUP asks it to read its configuration again.
// Under `npm start` it ends with its supervisor.
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '#libs/config/config-error.js';
import type { Config } from '#libs/config/schema.js';
import { knowSecrets } from '#libs/audit/known-secrets.js';
import { secretValues } from '#libs/config/secrets.js';
import { isSupervised } from '#libs/config/supervised.js';
import { openLogger, type OpenLogger } from '#libs/logging/open-logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { endWithParent } from './end-with-parent.js';

export interface RunningProcess {
  /** Not ready at once, no new work, what is under way ends; rejects or resolves soon after the grace time. */
  stop(graceMs: number): Promise<void>;
  /** Reads its configuration again; absent where nothing is read again. */
  reload?(): void;
}

/** Closes what it opened before it rejects: it may be called again. */
export type StartProcess = (config: Config, logger: OpenLogger) => Promise<RunningProcess>;

/** A start that finds no store is tried again until this has passed. */
const startMs = 60_000;
const startPauseMs = 500;

/** Past the grace time of the configuration there is this much for closing what is open. */
export const closingMs = 5_000;

/** The grace time of what has lost its supervisor: an embedded database has gone with that, and nobody starts it again. */
const orphanedGraceMs = 2_000;

export async function runProcess(service: string, load: () => Config, start: StartProcess): Promise<void> {
  const config = loadOrExit(load);
  const secrets = secretValues(config);
  knowSecrets(secrets);
  const logger = await openLogger({ service, level: config.log.level, secrets });
  const exit = (code: number): never => {
    logger.flush();
    process.exit(code);
  };
  process.on('uncaughtException', (error) => {
    logger.error({ error }, 'an error that nobody caught');
    exit(1);
  });
  process.on('unhandledRejection', (error) => {
    logger.error({ error }, 'a rejection that nobody handled');
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
    const ended = Promise.resolve(running).then((process) => process?.stop(graceMs));
    ended.then(
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
        if (reload === undefined) logger.info({}, `SIGHUP: the ${service} reads its configuration at its start only`);
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

async function withPatience<T>(start: () => Promise<T>, again: (error: AppError) => boolean): Promise<T> {
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

function loadOrExit(load: () => Config): Config {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
