// A real worker process, as `npm run start:worker` starts it, that a test may tell to kill itself at a named point.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '#libs/testing/free-port.js';

export interface WorkerProcess {
  child: ChildProcess;
  url: string;
  /** Resolves with how it ended. */
  ended: Promise<{ code: number | null; signal: string | null }>;
  log(): string;
  kill(): Promise<void>;
}

export interface WorkerProcessOptions {
  databaseUrl: string;
  dataDir: string;
  /** `after-effect`, `before-ack:2` */
  fault?: string;
  environment?: Record<string, string>;
}

const READY_TIMEOUT_MS = 30_000;
const MAX_LOG_LENGTH = 100_000;

export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const port = await freePort();
  const child = spawn(process.execPath, ['dist/apps/worker/main.js'], {
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'test',
      DATABASE_URL: options.databaseUrl,
      DATA_DIR: options.dataDir,
      SERVER_WORKER_PORT: String(port),
      ...(options.fault === undefined ? {} : { SIGNALBOX_FAULTS: options.fault }),
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-MAX_LOG_LENGTH)));
  }
  const ended = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  const url = `http://127.0.0.1:${port}`;
  const worker: WorkerProcess = {
    child,
    url,
    ended,
    log: () => log,
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
  try {
    await untilReady(worker);
  } catch (error) {
    await worker.kill();
    throw error;
  }
  return worker;
}

async function untilReady({ url, child, log }: WorkerProcess): Promise<void> {
  for (const end = Date.now() + READY_TIMEOUT_MS; Date.now() < end; await delay(50)) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    const ready = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
  }
  throw new Error(`the worker did not become ready:\n${log()}`);
}
