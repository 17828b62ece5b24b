// What the two processes of a queue round trip stand on: the backing services of the system under measure.
import type { Backing } from '#libs/backing/backing.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresProcessRegistry } from '#libs/runs/processes/postgres-process-registry.js';

/** Its own queue: the system's worker takes nothing from it. */
export const echoWorker = 'bench-echo';

export interface BackingAddress {
  databaseUrl: string;
  redisUrl?: string;
}

/** The process's one argument. */
const address = JSON.parse(process.argv[2]!) as BackingAddress;
const nameOf = (part: string) => `signalbox-bench-${part}`;

export function openPartsBacking(name: string): Promise<Backing> {
  return openBacking({ ...address, applicationName: nameOf(name) });
}

/** As a worker that lives: the queue of one that nobody knows is removed. */
export async function registerEchoWorker(name: string): Promise<void> {
  const applicationName = nameOf(name);
  const database = openDatabase({ url: address.databaseUrl, poolSize: 1, timeoutMs: 5_000, applicationName });
  const registry = new PostgresProcessRegistry(database, { logger: silentLogger });
  await registry.register({ id: echoWorker, kind: 'worker', details: {} });
}
