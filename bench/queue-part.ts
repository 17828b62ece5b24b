// What the two processes of a queue round trip stand on: the backing services of the system under measure.
import { openBacking } from '#libs/backing/open-backing.js';
import type { Backing } from '#libs/backing/backing.js';

/** Its own queue: the system's worker takes nothing from it. */
export const echoWorker = 'bench-echo';

export interface BackingAddress {
  databaseUrl: string;
  redisUrl?: string;
}

/** The address is the process's one argument. */
export function openPartsBacking(name: string): Promise<Backing> {
  const address = JSON.parse(process.argv[2]!) as BackingAddress;
  return openBacking({ ...address, applicationName: `signalbox-bench-${name}` });
}
