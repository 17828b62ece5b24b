// Starting what is measured, and reading from Linux' /proc what it costs. Nothing started here outlives the bench.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { installedPath } from '#libs/process/find-installed.js';
import type { LoadResult } from './keep-busy.js';

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

function own(child: ChildProcess): ChildProcess {
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

export type PartName =
  | 'fake-upstream'
  | 'load'
  | 'bare-client'
  | 'queue-part'
  | 'ai-sdk'
  | 'bullmq-part'
  | 'many-servers'
  | 'signed-in-server';

/** A process of the bench itself, spoken to by messages. */
export function startPart(name: PartName, ...given: string[]): ChildProcess {
  return own(fork(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), given));
}

/** The next message of a part. @throws Error when it ends instead */
export async function answerOf<T>(part: ChildProcess): Promise<T> {
  const settled = new AbortController();
  const { signal } = settled;
  const ended = once(part, 'exit', { signal }).then(() => {
    throw new Error('a part of the bench has ended');
  });
  try {
    const [message] = (await Promise.race([once(part, 'message', { signal }), ended])) as [T];
    return message;
  } finally {
    ended.catch(() => undefined);
    settled.abort();
  }
}

/** Its result of what it is asked for. */
export function ask(part: ChildProcess, what: object): Promise<LoadResult> {
  const result = answerOf<LoadResult>(part);
  part.send(what);
  return result;
}

export interface Service {
  pid: number;
  url: string;
  /** From its start until it was ready, ms. */
  startMs: number;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  app: 'gateway' | 'worker' | 'chimech';
  /** Whose built process it is; absent: of this one. */
  checkout?: string;
  environment: Record<string, string>;
  /** Where its output and, with `profile`, its CPU profile go. */
  directory: string;
  /** Where it runs: nothing is written there, since it watches its configuration. */
  home: string;
  profile: boolean;
}

/** A built process of Signalbox, ready. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { app, checkout = installedPath('.'), environment, directory, home, profile } = options;
  const port = String(await freePort());
  const log = `${directory}/${app}.log`;
  const output = openSync(log, 'w');
  const flags = profile ? ['--cpu-prof', `--cpu-prof-name=${app}.cpuprofile`, `--cpu-prof-dir=${directory}`] : [];
  const main = join(checkout, 'dist/apps', app, 'main.js');
  const child = own(
    spawn(process.execPath, [...flags, main], {
      cwd: home,
      env: {
        PATH: process.env['PATH'],
        ...environment,
        PORT: port,
        SERVER_WORKER_PORT: port,
        CHIMECH_PORT: port,
      },
      stdio: ['ignore', output, output],
    }),
  );
  const url = `http://127.0.0.1:${port}`;
  const began = performance.now();
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() - began > 30_000) {
      throw new Error(`the ${app} did not become ready:\n${readFileSync(log, 'utf8').slice(-3_000)}`);
    }
    await delay(20);
  }
  return {
    pid: child.pid!,
    url,
    startMs: performance.now() - began,
    stop: () => stopped(child),
  };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  await ended;
}

/** Another's server on Node, once it answers HTTP in whatever way. @throws Error when it does not within half a minute */
export async function startProgram(argumentsFor: (port: number) => string[]): Promise<Service> {
  const port = await freePort();
  const child = own(spawn(process.execPath, argumentsFor(port), { stdio: 'ignore' }));
  const url = `http://127.0.0.1:${port}`;
  const began = performance.now();
  while (!(await answers(url))) {
    if (child.exitCode !== null || performance.now() - began > 30_000) {
      await stopped(child);
      throw new Error('a peer did not start');
    }
    await delay(20);
  }
  return { pid: child.pid!, url, startMs: performance.now() - began, stop: () => stopped(child) };
}

/** A Redis as compose runs it: what it accepted is on disk within a second. */
export async function startRedisServer(directory: string) {
  const port = await freePort();
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    appendonly: 'yes',
    'maxmemory-policy': 'noeviction',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = own(spawn('redis-server', flags, { stdio: 'ignore' }));
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 100 });
  client.on('error', () => undefined);
  try {
    const ended = once(server, 'exit').then(() => Promise.reject(new Error('redis-server has ended')));
    await Promise.race([client.ping(), ended]);
    ended.catch(() => undefined);
  } finally {
    client.disconnect();
  }
  return { url, pid: server.pid!, stop: () => stopped(server) };
}

/** A gateway is ready when a worker is; a worker waits for nobody. */
async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const tickMs = 10;

/** CPU time of a process so far, user and system, ms; `reaped`: with its children that have ended. */
export function cpuMs(pid: number, reaped = false): number {
  const fields = statOf(pid);
  return fields === undefined ? 0 : ticks(fields, reaped) * tickMs;
}

/** The same of a PostgreSQL server with all of its processes. */
export function cpuMsOfTree(root: number): number {
  let total = cpuMs(root, true);
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(Number(name));
    if (fields !== undefined && Number(fields[1]) === root) total += ticks(fields, false) * tickMs;
  }
  return total;
}

export function residentMegabytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}

/** The fields of `stat` behind the name, which may hold anything: state, parent, … */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function ticks(fields: string[], reaped: boolean): number {
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  return user! + system! + (reaped ? childrenUser! + childrenSystem! : 0);
}
