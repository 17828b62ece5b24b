// Starts a built process of ours (`dist/apps/…`) for a test, on a free port, and waits until it listens. It is killed
// with the test: nothing outlives the file that started it.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export type Line = Record<string, unknown>;

/** A gateway, worker or Chimech that listens, in whatever process. */
export interface Started {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** Parsed log lines so far. */
  log: Line[];
  /** The first line (past or future) that satisfies the predicate. */
  logged(matches: (line: Line) => boolean, timeoutMs?: number): Promise<Line>;
}

export interface StartedProcess extends Started {
  pid: number;
  /** Lines that are no log lines. */
  stray: string[];
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
  const lines = new LogLines(app, () => child.exitCode !== null || child.signalCode !== null);
  const { log, stray, logged } = lines;
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', lines.take);
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal });
      lines.look();
    });
  });

  const listening = await logged((line) => line['message'] === 'listening', options.timeoutMs ?? 60_000).catch(
    async (error: unknown) => {
      // Nobody else could end it.
      child.kill('SIGKILL');
      await ended;
      throw error;
    },
  );
  return {
    url: urlOf(listening),
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

/** Of the line `listening`. */
export const urlOf = (listening: Line): string =>
  `http://127.0.0.1:${(listening['metadata'] as { port: number }).port}`;

/** What a process of ours has logged, and who waits for a line of it. */
export class LogLines {
  readonly log: Line[] = [];
  readonly stray: string[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly app: string,
    private readonly hasEnded: () => boolean,
  ) {}

  readonly take = (line: string): void => {
    try {
      this.log.push(JSON.parse(line) as Line);
    } catch {
      this.stray.push(line);
    }
    this.look();
  };

  /** Also when the process has ended: nobody waits any longer. */
  look(): void {
    for (const listener of this.listeners) listener();
  }

  readonly logged: Started['logged'] = (matches, timeoutMs = 15_000) =>
    new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        this.listeners.delete(look);
        finish();
      };
      const fail = (why: string) => {
        const last = [...this.log.map((line) => JSON.stringify(line)), ...this.stray].slice(-12).join('\n');
        settle(() => reject(new Error(`${this.app} ${why}: ${last}`)));
      };
      const look = () => {
        const line = this.log.find(matches);
        if (line !== undefined) settle(() => resolve(line));
        else if (this.hasEnded()) fail('ended');
      };
      const timer = setTimeout(() => fail('did not log what was waited for'), timeoutMs);
      this.listeners.add(look);
      look();
    });
}

export interface TemporaryDirectory {
  path: string;
  remove(): Promise<void>;
}

export async function temporaryDirectory(): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'signalbox-test-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
