// Enforces a workspace's quota for tool servers that write files themselves. It counts afterwards, so the quota is soft:
// above it the process tree is stopped, the workspace counted again, and the tree ended or resumed.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { diskFull, type FreeSpace } from '#libs/workspace/free-space.js';
import type { ScannedUsage, Usage, WorkspaceLimits } from '#libs/workspace/usage-ledger.js';

/** The processes of one instance. All methods end in bounded time, and ignore processes that have already ended. */
export interface ProcessTree {
  /** Resolves when none of them runs: nothing is written until `resume`. */
  stop(): Promise<void>;
  resume(): Promise<void>;
  /** Kills all of them, also stopped ones. Their calls fail with the error. */
  end(error: AppError): Promise<void>;
}

export interface QuotaWatchOptions {
  tree: ProcessTree;
  /** Counts the workspace: `Workspaces.measure`. */
  count: (signal: AbortSignal) => Promise<ScannedUsage>;
  /** The usage before the call. If it was already above a limit, it may shrink but not grow. */
  before: Usage;
  limits: WorkspaceLimits;
  /** If absent, calls are assumed to be always under way. */
  activity?: CallActivity;
  space: Pick<FreeSpace, 'bytes' | 'minFreeBytes'>;
  logger: Logger;
}

/** The pauses between counts: shortest above half of a limit, and longest. Between them, by the speed of a fast writer. */
const closeMs = 50;
const farMs = 1_000;
const fastestBytesPerMs = 2 * 1_024 * 1_024;
const fastestEntriesPerMs = 50;
/** The pause while no call is under way. */
const idleMs = 5_000;
/** A pause is at least this many times as long as a count, so that counting takes at most a fifth of the time. */
const pausePerCount = 4;

/** Whether calls are under way on an instance. */
export class CallActivity {
  private running = 0;
  private onStarted: (() => void) | undefined;

  get isBusy(): boolean {
    return this.running > 0;
  }

  async during<T>(call: () => Promise<T>): Promise<T> {
    this.running += 1;
    this.onStarted?.();
    try {
      return await call();
    } finally {
      this.running -= 1;
    }
  }

  /** Resolves when a call starts, or after `withinMs`. Only one caller may wait. */
  started(withinMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.onStarted = () => woken.abort();
    const rest = delay(withinMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) });
    return rest.catch(() => undefined).finally(() => (this.onStarted = undefined));
  }
}

/** Watches one instance until the signal aborts, or the tree was ended: then resolves with the reason. Never rejects. */
export async function watchQuota(options: QuotaWatchOptions, signal: AbortSignal): Promise<AppError | undefined> {
  const { logger, activity } = options;
  let isBlind = false;
  while (!signal.aborted) {
    let pauseMs = farMs;
    const startedAt = performance.now();
    try {
      const { leftMs, reason, countMs } = await check(options, signal);
      const ended = reason === undefined ? undefined : await endOrResume(options, signal);
      if (ended !== undefined) return ended;
      pauseMs = pauseAfter(leftMs, countMs);
      isBlind = false;
    } catch (error) {
      // The next check may succeed, for example after a lack of file descriptors.
      if (!signal.aborted && !isBlind) logger.warn({ error }, 'a workspace could not be watched');
      isBlind = true;
    }
    if (activity?.isBusy === false) await activity.started(idleMs, signal);
    const left = pauseMs - (performance.now() - startedAt);
    if (left > 0) await delay(left, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

interface Check {
  /** How soon a fast writer could reach half of the nearest limit. */
  leftMs: number;
  /** Why the tree must be ended. */
  reason: AppError | undefined;
  countMs: number;
}

async function check(options: QuotaWatchOptions, signal: AbortSignal): Promise<Check> {
  const { count, limits, space } = options;
  const startedAt = performance.now();
  const usage = await count(signal);
  const countMs = performance.now() - startedAt;
  const freeBytes = await space.bytes().catch(() => Infinity);
  const leftMs = Math.min(
    (limits.maxBytes / 2 - usage.bytes) / fastestBytesPerMs,
    (limits.maxFiles / 2 - entries(usage)) / fastestEntriesPerMs,
    (freeBytes - space.minFreeBytes) / 2 / fastestBytesPerMs,
  );
  return { leftMs, reason: reasonToEnd(options, usage, freeBytes), countMs };
}

function reasonToEnd(
  { before, limits, space }: QuotaWatchOptions,
  usage: ScannedUsage,
  freeBytes: number,
): AppError | undefined {
  const { maxBytes, maxFiles, maxDepth } = limits;
  if (usage.bytes > Math.max(maxBytes, before.bytes)) return exceeded(`at most ${maxBytes} bytes`);
  // Counting stops at twice the limit.
  const mostEntries = Math.min(Math.max(maxFiles, entries(before)), maxFiles * 2);
  if (entries(usage) > mostEntries) return exceeded(`at most ${maxFiles} files and directories`);
  if (usage.tooDeep) return exceeded(`directories are more than ${maxDepth} deep`);
  // Others may have filled the disk, so only a tree whose usage has grown is ended.
  const hasGrown = usage.bytes > before.bytes || entries(usage) > entries(before);
  return hasGrown && freeBytes < space.minFreeBytes ? diskFull() : undefined;
}

/** Counts again while the tree is stopped, since it may have deleted files after the first count. */
async function endOrResume(options: QuotaWatchOptions, signal: AbortSignal): Promise<AppError | undefined> {
  const { tree } = options;
  let ended = false;
  try {
    await tree.stop();
    const { reason } = await check(options, signal);
    if (reason === undefined) return undefined;
    ended = true;
    await tree.end(reason);
    return reason;
  } finally {
    // Also if counting failed or was aborted, or the tree would stay stopped for ever.
    if (!ended) await tree.resume();
  }
}

const entries = ({ files, directories }: Usage) => files + directories;

function pauseAfter(leftMs: number, countMs: number): number {
  return Math.max(closeMs, Math.min(farMs, leftMs), countMs * pausePerCount);
}

const exceeded = (what: string) =>
  new AppError(
    'workspace_quota_exceeded',
    `The tool was ended because it filled the workspace: ${what}. Delete files, then try again.`,
  );
