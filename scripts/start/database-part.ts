// The embedded PostgreSQL as a part: restarted on the port it had, so those who use it find it again. When that port was
// taken meanwhile, it moves and says so.
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-postgres/embedded-postgres.js';
import type { Logger } from '#libs/logging/logger.js';
import { Unrecoverable, type Life, type Part } from './part.js';

export interface DatabasePartOptions {
  dataDir: string;
  logger: Logger;
  /** Aborted: a stop is at once, and the next start repairs. */
  atOnce: AbortSignal;
  /** Called at every start, before the part counts as started. */
  onAddress: (database: EmbeddedPostgres, signal: AbortSignal) => Promise<void>;
}

export function databasePart(options: DatabasePartOptions): Part {
  let port: number | undefined;
  return {
    name: 'postgres',
    start: async (signal) => {
      try {
        const { life, database } = await start(options, port, signal);
        port = database.port;
        return life;
      } catch (error) {
        // What is wrong with the very first start (the directory, the platform, the migrations) stays wrong.
        if (port === undefined && !signal.aborted) throw new Unrecoverable((error as Error).message, { cause: error });
        throw error;
      }
    },
  };
}

async function start(
  { dataDir, logger, atOnce, onAddress }: DatabasePartOptions,
  preferredPort: number | undefined,
  signal: AbortSignal,
): Promise<{ life: Life; database: EmbeddedPostgres }> {
  let end: (how: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const database = await startEmbeddedPostgres({
    dataDir,
    signal,
    logger,
    ...(preferredPort === undefined ? {} : { preferredPort }),
    onUnexpectedEnd: (error) => end(`ended by itself: ${error.message}`),
  });
  const stop = async () => {
    await database.stop({ atOnce });
    end('was stopped');
  };
  try {
    await onAddress(database, signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { life: { ended, stop }, database };
}
