// All that `npm start` runs, from first to last: the database (unless one is given), its migrations, then the services;
// at the end the services in their order, then the database. Leaves nothing running, however it ends.
import { once } from 'node:events';
import type { Logger } from '#libs/logging/logger.js';
import { databasePart } from './database-part.js';
import { keepRunning, type KeptPart } from './keep-running.js';
import { restartLimits, type RestartLimits } from './restart-policy.js';
import { servicePart } from './service-part.js';

export interface Service {
  name: string;
  /** What `node` runs, with its arguments. */
  program: readonly string[];
  readyUrl: string;
}

export interface SuperviseOptions {
  logger: Logger;
  dataDir: string;
  /** Absent: an embedded one is started below dataDir. */
  databaseUrl?: string | undefined;
  migrate(databaseUrl: string, options: { signal: AbortSignal }): Promise<unknown>;
  /** Started together, stopped one after the other in this order. */
  services: readonly Service[];
  /** What the services are given; the address of an embedded database is added. */
  environment: Record<string, string | undefined>;
  stopDeadlineMs: number;
  limits?: RestartLimits;
  /** Called once, when all is ready. */
  onReady(): Promise<void>;
  /** Calls its listener whenever the services are to read their configuration again. */
  onReload(listener: () => void): void;
  /** Aborted: everything stops, in order. */
  stop: AbortSignal;
  /** Aborted after `stop`: everything stops at once. */
  atOnce: AbortSignal;
}

const readyTimeoutMs = 60_000;

/** Resolves after a stop that was asked for; rejects with the reason when a part had to be given up. */
export async function supervise(options: SuperviseOptions): Promise<void> {
  const { logger, limits = restartLimits, stop, migrate } = options;
  const stopped = stop.aborted ? Promise.resolve() : once(stop, 'abort');
  const services: KeptPart[] = [];
  let database: KeptPart | undefined;
  let embeddedUrl: string | undefined;
  try {
    if (options.databaseUrl === undefined) {
      database = keepRunning(
        databasePart({
          ...options,
          onAddress: async ({ url }, signal) => {
            if (embeddedUrl === undefined) await migrate(url, { signal });
            const moved = embeddedUrl !== undefined && embeddedUrl !== url;
            embeddedUrl = url;
            if (moved) for (const service of services) void service.renew();
          },
        }),
        logger,
        limits,
      );
      await Promise.race([database.ready, stopped]);
    } else {
      await migrate(options.databaseUrl, { signal: stop });
    }
    if (stop.aborted) return;
    const environment = () => ({
      ...options.environment,
      ...(embeddedUrl === undefined ? {} : { DATABASE_URL: embeddedUrl }),
    });
    for (const service of options.services) {
      const part = servicePart({ ...options, ...service, environment, readyDeadlineMs: readyTimeoutMs });
      services.push(keepRunning(part, logger, limits));
    }
    options.onReload(() => {
      logger.info({}, 'SIGHUP: the services are asked to read their configuration again');
      for (const service of services) service.reload();
    });
    const overs = [...services, ...(database === undefined ? [] : [database])].map(({ over }) => over);
    await Promise.race([Promise.all(services.map(({ ready }) => ready)), stopped, ...overs]);
    if (stop.aborted) return;
    await options.onReady();
    await Promise.race([stopped, ...overs]);
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    for (const service of services) await service.stop();
    await database?.stop();
  }
}
