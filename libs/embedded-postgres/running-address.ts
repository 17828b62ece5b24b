// The address of an embedded PostgreSQL that `npm start` runs on this machine, for commands beside it.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isAlive } from '../process/process-identity.js';
import { clusterPath, database, role } from './cluster.js';
import { readServerPid } from './running-server.js';

/** Contains the password. Undefined if no server runs. */
export async function runningAddress(dataDir: string): Promise<string | undefined> {
  const directory = join(resolve(dataDir), 'postgres');
  const pid = await readServerPid(clusterPath(directory));
  if (pid === undefined || !isAlive(pid)) return undefined;
  // The fourth line is the port.
  const port = (await readFile(join(clusterPath(directory), 'postmaster.pid'), 'utf8')).split('\n')[3];
  const password = (await readFile(join(directory, 'password'), 'utf8')).trim();
  return `postgres://${role}:${password}@127.0.0.1:${Number(port)}/${database}`;
}
