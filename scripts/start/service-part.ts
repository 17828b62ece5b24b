// A gateway or worker as a child process: its settings go in by environment only, it is ready when /health/ready says
// so, and it is stopped by SIGTERM and patience. Its log lines are its own: they go where ours go.
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { supervisedVariable } from '#libs/process/end-with-parent.js';
import type { Logger } from '#libs/logging/logger.js';
import { listensOn } from './find-listener.js';
import type { Life, Part } from './part.js';

export interface ServiceOptions {
  name: string;
  /** What `node` runs, with its arguments. */
  program: readonly string[];
  /** Asked at every start. */
  environment: () => Record<string, string | undefined>;
  /** Answers 200 when the service serves. */
  readyUrl: string;
  /** How long it may take to serve. */
  readyDeadlineMs: number;
  /** How long it may take to stop. */
  stopDeadlineMs: number;
  /** Aborted: every stop, also one under way, is at once. */
  atOnce: AbortSignal;
  logger: Logger;
}

/** A stop that takes longer says what it waits for. */
const quietStopMs = 500;
/** What a hurried stop is given, to end the tools that it runs. */
const atOnceDeadlineMs = 1_000;
const pollMs = 50;

export function servicePart(options: ServiceOptions): Part {
  return { name: options.name, start: (signal) => start(options, signal) };
}

async function start(options: ServiceOptions, signal: AbortSignal): Promise<Life> {
  const { child, life } = spawnLife(options);
  const gone = new AbortController();
  void life.ended.then((how) => gone.abort(new Error(how)));
  try {
    await untilReady(child, options, AbortSignal.any([signal, gone.signal]));
    return life;
  } catch (error) {
    await life.stop();
    throw gone.signal.aborted ? gone.signal.reason : error;
  }
}

function spawnLife(options: ServiceOptions): { child: ChildProcess; life: Life } {
  // In a session of its own: Ctrl-C reaches us, and we stop the parts in order.
  const child = spawn(process.execPath, options.program, {
    env: { ...options.environment(), [supervisedVariable]: '1' },
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`);
    });
    child.once('exit', (status, killedBy) => {
      child.stdin.destroy();
      signalGroup(child, 'SIGKILL');
      resolve(killedBy === null ? `exited with status ${status}` : `was ended by ${killedBy}`);
    });
  });
  let stopped: Promise<void> | undefined;
  const life: Life = {
    ended,
    stop: () => (stopped ??= stop(child, ended, options)),
    reload: () => void child.kill('SIGHUP'),
  };
  return { child, life };
}

async function stop(child: ChildProcess, ended: Promise<string>, options: ServiceOptions): Promise<void> {
  const { atOnce, stopDeadlineMs, logger, name } = options;
  child.kill('SIGTERM');
  if (await endsWithin(ended, quietStopMs, atOnce)) return;
  const most = Math.ceil(stopDeadlineMs / 1_000);
  if (!atOnce.aborted) {
    logger.info({}, `waiting up to ${most} s for the ${name} to finish its work; press Ctrl-C again to stop at once`);
  }
  if (await endsWithin(ended, stopDeadlineMs - quietStopMs, atOnce)) return;
  if (!atOnce.aborted) logger.warn({}, `${name} did not stop within ${stopDeadlineMs} ms: it is killed`);
  child.kill('SIGTERM');
  if (await endsWithin(ended, atOnceDeadlineMs)) return;
  signalGroup(child, 'SIGKILL');
  await ended;
}

async function endsWithin(ended: Promise<string>, ms: number, hurry?: AbortSignal): Promise<boolean> {
  const timer = new AbortController();
  const signal = hurry === undefined ? timer.signal : AbortSignal.any([timer.signal, hurry]);
  try {
    return await Promise.race([ended.then(() => true), delay(ms, false, { signal }).catch(() => false)]);
  } finally {
    timer.abort();
  }
}

/** The child leads a group of its own; what it left in it goes with it. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody is left.
  }
}

async function untilReady(child: ChildProcess, options: ServiceOptions, signal: AbortSignal): Promise<void> {
  const { readyUrl, readyDeadlineMs } = options;
  const port = Number(new URL(readyUrl).port);
  const deadline = performance.now() + readyDeadlineMs;
  for (;;) {
    signal.throwIfAborted();
    // Another program that took the port meanwhile answers as well: the service is about to end, because of it.
    if ((await answersOk(readyUrl, signal)) && listensOn(port, child.pid!)) return;
    if (performance.now() > deadline) throw new Error(`was not ready within ${readyDeadlineMs} ms`);
    await delay(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

async function answersOk(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, abortAfter(2_000)]) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
