// Starts a built process of ours (`dist/apps/…`) for a test, on a free port, and waits until it listens. It is killed
// with the test: nothing outlives the file that started it.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface StartedProcess {
  /** `http://127.0.0.1:<port>` */
  url: string;
  pid: number;
  /** Parsed log lines so far. */
  log: Record<string, unknown>[];
  /** Lines that are no log lines. */
  stray: string[];
  /** The first line (past or future) that satisfies the predicate. */
  logged(matches: (line: Record<string, unknown>) => boolean, timeoutMs?: number): Promise<Record<string, unknown>>;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM, then waits for the end. Returns the exit code. */
  stop(): Promise<number | null>;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface ProcessOptions {
  environment: Record<string, string>;
  timeoutMs?: number;
  /** File descriptors that it may have; absent: as many as this process. */
  openFiles?: number;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export async function startProcess(
  app: 'gateway' | 'worker' | 'chimech',
  options: ProcessOptions,
): Promise<StartedProcess> {
  const { openFiles } = options;
  const main = join(root, 'dist/apps', app, 'main.js');
  const [file, args] =
    openFiles === undefined
      ? [process.execPath, [main]]
      : ['prlimit', [`--nofile=${openFiles}`, process.execPath, main]];
  const child = spawn(file, args, {
    // Not the checkout: a developer's own signalbox.yaml must not change a test.
    cwd: tmpdir(),
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'test',
      HOST: '127.0.0.1',
      PORT: '0',
      SERVER_WORKER_PORT: '0',
      CHIMECH_PORT: '0',
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const log: Record<string, unknown>[] = [];
  const listeners = new Set<() => void>();
  const stray: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      try {
        log.push(JSON.parse(line) as Record<string, unknown>);
      } catch {
        stray.push(line);
      }
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal });
      for (const listener of listeners) listener();
    });
  });

  const logged: StartedProcess['logged'] = (matches, timeoutMs = 15_000) =>
    new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        listeners.delete(look);
        finish();
      };
      const fail = (why: string) =>
        settle(() =>
          reject(
            new Error(`${app} ${why}: ${[...log.map((line) => JSON.stringify(line)), ...stray].slice(-12).join('\n')}`),
          ),
        );
      const look = () => {
        const line = log.find(matches);
        if (line !== undefined) settle(() => resolve(line));
        else if (child.exitCode !== null || child.signalCode !== null) fail('ended');
      };
      const timer = setTimeout(() => fail('did not log what was waited for'), timeoutMs);
      listeners.add(look);
      look();
    });

  const listening = await logged((line) => line['message'] === 'listening', options.timeoutMs ?? 60_000).catch(
    async (error: unknown) => {
      // Nobody else could end it.
      child.kill('SIGKILL');
      await ended;
      throw error;
    },
  );
  const { port } = listening['metadata'] as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    log,
    stray,
    logged,
    kill: (signal) => void child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      return (await ended).code;
    },
    ended,
  };
}

export interface TemporaryDirectory {
  path: string;
  remove(): Promise<void>;
}

export async function temporaryDirectory(): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
