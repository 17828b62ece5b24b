// The files of the embedded PostgreSQL: made whole once (database, role, password, who may log in) and then left alone.
// Never touches existing data, except to give it the owner that the server needs.
import { randomBytes } from 'node:crypto';
import { chown, lchown, mkdir, open, opendir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { runProgram } from '../process/run-program.js';
import { isAlive } from '../process/process-identity.js';
import type { Binaries } from './binaries.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { serverEnvironment, type RunAs } from './run-as.js';

export const role = 'signalbox';
export const database = 'signalbox';

export interface ClusterOptions {
  /** Holds `cluster` (the server's) and `password` (ours). */
  directory: string;
  binaries: Binaries;
  runAs: RunAs;
  /** For test runs: data may be lost in a power cut, and the role may create databases. */
  disposable: boolean;
  signal: AbortSignal | undefined;
}

export const clusterPath = (directory: string): string => join(directory, 'cluster');

/** Makes the cluster where there is none. Returns the password of the application's role. */
export async function openCluster(options: ClusterOptions): Promise<string> {
  const { directory, runAs, binaries, signal } = options;
  await removeUnfinished(directory);
  if (!(await isThere(directory))) await createWhole(options);
  await checkVersion(clusterPath(directory), binaries, signal);
  await giveTo(clusterPath(directory), runAs.owner);
  const password = await readFile(join(directory, 'password'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new EmbeddedPostgresError('data_dir_unusable', `${join(directory, 'password')} is missing: put it back.`);
  });
  return password.trim();
}

async function isThere(directory: string): Promise<boolean> {
  try {
    await stat(join(clusterPath(directory), 'PG_VERSION'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Makes the cluster under another name, so that a killed start, or two at once, never leave half a cluster. */
async function createWhole(options: ClusterOptions): Promise<void> {
  const { directory, runAs } = options;
  const unfinished = `${directory}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
  const password = randomBytes(24).toString('base64url');
  try {
    await mkdir(unfinished, { mode: 0o700 });
    await mkdir(clusterPath(unfinished), { mode: 0o700 });
    await giveTo(clusterPath(unfinished), runAs.owner);
    await initialise(clusterPath(unfinished), password, options);
    await writeSynced(join(unfinished, 'password'), `${password}\n`);
    await rename(unfinished, directory);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    // Another start was faster, and its cluster is as good.
    if (await isThere(directory)) return;
    throw new EmbeddedPostgresError(
      'data_dir_unusable',
      `${directory} exists but contains no database: move it away, or set DATA_DIR to another directory.`,
    );
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function initialise(cluster: string, password: string, options: ClusterOptions): Promise<void> {
  const { binaries, disposable } = options;
  // Nobody can log in as the superuser: it exists in single-user mode only, which needs the files.
  await run(options, [
    binaries.initdb,
    '-D',
    cluster,
    '-U',
    'postgres',
    '--auth=reject',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(disposable ? ['--no-sync'] : []),
  ]);
  const statements = [
    `create role ${role} login ${disposable ? 'createdb createrole' : ''} password '${password}'`,
    `create database ${database} owner ${role}`,
  ];
  await run(
    options,
    [
      binaries.postgres,
      '--single',
      '-D',
      cluster,
      '-c',
      'exit_on_error=on',
      '-c',
      'log_min_messages=fatal',
      'postgres',
    ],
    `${statements.join('\n')}\n`,
  );
  // Written in place: the file keeps the owner that initdb gave it.
  await writeFile(join(cluster, 'pg_hba.conf'), `host all ${disposable ? 'all' : role} 127.0.0.1/32 scram-sha-256\n`);
}

async function run(options: ClusterOptions, command: string[], input?: string): Promise<void> {
  const { status, output } = await runProgram([...options.runAs.prefix, ...command], {
    environment: serverEnvironment,
    timeoutMs: 120_000,
    signal: options.signal,
    ...(input === undefined ? {} : { input }),
  });
  if (status === 0) return;
  const program = command[0] === options.binaries.initdb ? 'initdb' : 'postgres --single';
  const lines = output.trim().split('\n').slice(-5).join('\n');
  throw new EmbeddedPostgresError('start_failed', `The embedded PostgreSQL could not be set up: ${program}: ${lines}`);
}

async function checkVersion(cluster: string, binaries: Binaries, signal: AbortSignal | undefined): Promise<void> {
  const found = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  const { output } = await runProgram([binaries.initdb, '--version'], {
    environment: serverEnvironment,
    timeoutMs: 20_000,
    signal,
  });
  const ours = /\(PostgreSQL\) (\d+)/.exec(output)?.[1];
  if (ours === undefined || ours === found) return;
  throw new EmbeddedPostgresError(
    'wrong_version',
    `The data in ${cluster} was written by PostgreSQL ${found}, and this release comes with ${ours}. Move it away to ` +
      'start afresh, or dump it with the release that wrote it.',
  );
}

async function giveTo(directory: string, owner: RunAs['owner']): Promise<void> {
  if (owner === undefined || (await stat(directory)).uid === owner.uid) return;
  for await (const entry of await opendir(directory, { recursive: true })) {
    await lchown(join(entry.parentPath, entry.name), owner.uid, owner.gid);
  }
  // Change the directory itself last, so that the next start repeats an incomplete change.
  await chown(directory, owner.uid, owner.gid);
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function removeUnfinished(directory: string): Promise<void> {
  const parent = dirname(directory);
  const prefix = `${basename(directory)}.new-`;
  for (const name of await readdir(parent)) {
    const maker = Number(name.slice(prefix.length).split('-')[0]);
    if (name.startsWith(prefix) && !isAlive(maker)) await rm(join(parent, name), { recursive: true, force: true });
  }
}
