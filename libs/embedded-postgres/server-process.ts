// A run of the server: its start, readiness and stop; its wrapper ends the server when we are killed.
// Knows nothing of how the cluster is made or whether to start it again.
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../logging/logger.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { readServerPid } from './running-server.js';
import { serverEnvironment } from './run-as.js';

export interface ServerCommand {
  /** The command line, including the prefix that runs it as another user. */
  command: readonly string[];
  cluster: string;
  logger: Logger;
  /** The directory that is removed when the server has ended, whoever ended it. */
  removeAtEnd: string | undefined;
}

export interface ServerEnd {
  /** Exit status; null if a signal ended the wrapper. */
  status: number | null;
  lines: string[];
}

export interface ServerProcess {
  /** Rejects with `start_failed` if the server ends or takes too long before it accepts connections. */
  ready: Promise<void>;
  /** Resolves, never rejects, when the server and everything that it started has ended. */
  ended: Promise<ServerEnd>;
  /** Cuts sessions, writes data, and ends the server; forcibly after a while. Resolves when no process of it is left. */
  stop(atOnce?: AbortSignal): Promise<ServerEnd>;
}

/**
 * $0 is a directory to remove at the end, or empty. The read ends when the owner closes the pipe or dies; the wait ends
 * when the server does. The server has neither our stdin nor the pipe.
 */
const wrapper = `exec 3<&0
"$@" </dev/null 3<&- &
server=$!
(read -r _ <&3; kill -INT $server) >/dev/null 2>&1 &
watcher=$!
exec 3<&- </dev/null
wait $server
status=$?
kill $watcher 2>/dev/null
[ -z "$0" ] || rm -rf -- "$0"
exit $status`;

const readyLine = 'database system is ready to accept connections';
/** Recovery after a crash reads what was written since the last checkpoint. */
const readyTimeoutMs = 120_000;
const stopDeadlineMs = 20_000;
const quitDeadlineMs = 5_000;
const keptLines = 20;
const maxLineCharacters = 4_096;

export function startServer(options: ServerCommand): ServerProcess {
  const { logger, cluster } = options;
  const lines: string[] = [];
  let stopping: Promise<ServerEnd> | undefined;
  // In its own session, since Ctrl-C on our terminal must not stop the database before its users.
  const child = spawn('/bin/sh', ['-c', wrapper, options.removeAtEnd ?? '', ...options.command], {
    cwd: '/',
    env: serverEnvironment,
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  child.once('error', (error) => lines.push(error.message));
  // If the wrapper dies, the watcher still ends the server.
  child.once('exit', () => child.stdin.destroy());

  const ended = new Promise<ServerEnd>((resolve) => {
    // After `close` no process is left, since each held the other end of the log's pipe.
    child.once('close', (status) => resolve({ status, lines }));
  });

  const ready = new Promise<void>((resolve, reject) => {
    const fail = (why: string) =>
      reject(new EmbeddedPostgresError('start_failed', `The embedded PostgreSQL ${why}:\n${lines.join('\n')}`));
    const deadline = setTimeout(() => fail('did not become ready in time'), readyTimeoutMs);
    forEachLine(child.stderr, (line) => {
      lines.push(line);
      if (lines.length > keptLines) lines.shift();
      const important = /^(FATAL|PANIC)/.test(line) && stopping === undefined;
      logger[important ? 'warn' : 'debug']({}, `postgres: ${line}`);
      if (!line.includes(readyLine)) return;
      clearTimeout(deadline);
      resolve();
    });
    void ended.then(() => {
      clearTimeout(deadline);
      fail('ended before it was ready');
    });
  });
  ready.catch(() => undefined);

  async function stop(atOnce?: AbortSignal): Promise<ServerEnd> {
    child.stdin.destroy();
    for (const [afterMs, signal] of [
      [stopDeadlineMs, 'SIGQUIT'],
      [quitDeadlineMs, 'SIGKILL'],
    ] as const) {
      const end = await within(ended, afterMs, signal === 'SIGQUIT' ? atOnce : undefined);
      if (end !== undefined) return end;
      if (atOnce?.aborted !== true) logger.warn({}, `postgres did not stop: sending ${signal}`);
      const pid = await readServerPid(cluster).catch(() => undefined);
      if (pid !== undefined) sendSignal(pid, signal);
    }
    return ended;
  }

  return { ready, ended, stop: (atOnce) => (stopping ??= stop(atOnce)) };
}

function forEachLine(stream: Readable, hear: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = (parts.pop() ?? '').slice(0, maxLineCharacters);
    for (const line of parts) hear(line.slice(0, maxLineCharacters));
  });
}

/** Undefined if the promise takes longer than `ms`, or `hurry` aborts. */
async function within<T>(promise: Promise<T>, ms: number, hurry?: AbortSignal): Promise<T | undefined> {
  const timer = new AbortController();
  const signal = hurry === undefined ? timer.signal : AbortSignal.any([timer.signal, hurry]);
  try {
    return await Promise.race([promise, delay(ms, undefined, { signal }).catch(() => undefined)]);
  } finally {
    timer.abort();
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process ended meanwhile.
  }
}
