// A real PostgreSQL for one machine, from the binaries that npm installed: started on a data directory, for us alone,
// ended with us. Restarts nothing: the code that started it hears of its end and decides.
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { silentLogger, type Logger } from '../logging/logger.js';
import { findNativeDirectory, openBinaries } from './binaries.js';
import { clusterPath, database, openCluster, role } from './cluster.js';
import { EmbeddedPostgresError, toDataDirError } from './embedded-postgres-error.js';
import { alreadyRunning, ensureNotRunning, readServerPid, writeOwner } from './running-server.js';
import { chooseRunAs } from './run-as.js';
import { startServer, type ServerProcess } from './server-process.js';

export interface EmbeddedPostgresOptions {
  /** DATA_DIR; the database lives in `postgres` below it. Made where missing. */
  dataDir: string;
  logger?: Logger;
  signal?: AbortSignal;
  /** The port if it is free, so that a restart keeps its address; otherwise any free port. */
  preferredPort?: number;
  onUnexpectedEnd?: (error: EmbeddedPostgresError) => void;
  /** For test runs: nothing survives a power cut, the role may create databases, and dataDir is removed at the end. */
  disposable?: boolean;
  /** The `native` directory of the binaries; default: that of the installed package. */
  nativeDirectory?: string;
}

export interface EmbeddedPostgres {
  /** Contains the password: for environments and clients, not for command lines or logs. */
  url: string;
  port: number;
  directory: string;
  /** Resolves when no process of the server runs. Once `atOnce` aborts nothing more is written: the next start recovers. */
  stop(options?: { atOnce?: AbortSignal }): Promise<void>;
}

const serverSettings: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '512MB',
  // There is no replica, so less has to be written.
  wal_level: 'minimal',
  max_wal_senders: '0',
  jit: 'off',
  timezone: 'UTC',
  // The server must not log failed statements and their values: the application logs its errors.
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  lc_messages: 'C',
};

const disposableSettings: Record<string, string> = {
  // Test files start many gateways and workers side by side.
  max_connections: '500',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
};

const startAttempts = 5;
/** How long processes of a server that was killed may still hold its memory. */
const leftoverDeadlineMs = 20_000;
const stillInUse = /pre-existing shared memory block|could not create shared memory/;

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { signal, disposable = false, logger = silentLogger } = options;
  const dataDir = resolve(options.dataDir);
  const directory = join(dataDir, 'postgres');
  const cluster = clusterPath(directory);
  try {
    const native = options.nativeDirectory ?? findNativeDirectory();
    await makeDirectory(dataDir);
    await ensureNotRunning(directory, signal);
    const binaries = await openBinaries(native, join(dataDir, 'postgres-binaries'));
    const runAs = await chooseRunAs(binaries, cluster, signal);
    const password = await openCluster({ directory, binaries, runAs, disposable, signal });
    const { server, port } = await startOnFreePort(options, directory, (port) =>
      startServer({
        command: [...runAs.prefix, binaries.postgres, '-D', cluster, ...settings(port, disposable)],
        cluster,
        logger,
        removeAtEnd: disposable ? dataDir : undefined,
      }),
    );
    const url = `postgres://${role}:${password}@127.0.0.1:${port}/${database}`;
    return await own(server, { url, port, directory }, options);
  } catch (error) {
    throw toDataDirError(error, dataDir);
  }
}

async function startOnFreePort(
  options: EmbeddedPostgresOptions,
  directory: string,
  start: (port: number) => ServerProcess,
): Promise<{ server: ServerProcess; port: number }> {
  const { signal, preferredPort } = options;
  const deadline = performance.now() + leftoverDeadlineMs;
  for (let attempt = 1; ;) {
    const port = attempt === 1 && preferredPort !== undefined ? preferredPort : await findFreePort();
    const server = start(port);
    try {
      await untilAborted(server.ready, signal);
      return { server, port };
    } catch (error) {
      const said = (await server.stop()).lines.join('\n');
      signal?.throwIfAborted();
      if (said.includes('lock file "postmaster.pid" already exists')) {
        throw alreadyRunning(directory, (await readServerPid(clusterPath(directory))) ?? 0);
      }
      if (stillInUse.test(said) && performance.now() < deadline) {
        // There is no event for the end of processes that we did not start.
        await delay(100, undefined, signal === undefined ? {} : { signal });
        continue;
      }
      // Another process took the port after our check.
      if (said.includes('could not create any TCP/IP sockets') && attempt++ < startAttempts) continue;
      throw error;
    }
  }
}

async function own(
  server: ServerProcess,
  address: Pick<EmbeddedPostgres, 'url' | 'port' | 'directory'>,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  try {
    if (options.disposable !== true) await writeOwner(address.directory);
    await checkLogin(address.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  let stopped = false;
  void server.ended.then(({ lines }) => {
    if (stopped) return;
    const said = lines.slice(-5).join('\n');
    options.onUnexpectedEnd?.(
      new EmbeddedPostgresError('ended', `The embedded PostgreSQL ended by itself; last output: ${said}`),
    );
  });
  return {
    ...address,
    stop: async ({ atOnce } = {}) => {
      stopped = true;
      await server.stop(atOnce);
    },
  };
}

async function checkLogin(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A connection that breaks after its answer is ignored: the server's end is reported elsewhere.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw new EmbeddedPostgresError(
      'start_failed',
      `The embedded PostgreSQL is running but rejected the connection: ${(error as Error).message}`,
      error,
    );
  } finally {
    await client.end();
  }
}

/** Does not use `recursive`, with which Node never returns for directories such as `/proc`. */
export async function makeDirectory(path: string): Promise<void> {
  const attempt = () =>
    mkdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  try {
    await attempt();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path));
    await attempt();
  }
}

function settings(port: number, disposable: boolean): string[] {
  const all = { ...serverSettings, ...(disposable ? disposableSettings : {}), port: String(port) };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  return new Promise((found, failed) => {
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

async function untilAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const settled = new AbortController();
  const aborted = once(signal, 'abort', { signal: settled.signal }).then(() => signal.throwIfAborted());
  aborted.catch(() => undefined);
  try {
    await Promise.race([promise, aborted]);
  } finally {
    settled.abort();
  }
}
