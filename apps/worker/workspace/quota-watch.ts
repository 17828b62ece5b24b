// Enforces a workspace's quota for tool servers that write files themselves. Counts come after writes, so the quota is soft:
// above it the process tree is stopped, the workspace counted again, and the tree ended or resumed. Between counts a tree
// under the launcher makes no more files than it was granted, and the free space of the disk bounds what it wrote.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { diskFull, type FreeSpace } from '#libs/workspace/free-space.js';
import type { ScannedUsage, DirectoryUsage, WorkspaceLimits } from '#libs/workspace/usage-ledger.js';
import type { NameGrants } from '../sandbox/tool-process.js';

/** The processes of one instance. All methods end in bounded time, and ignore processes that have already ended. */
export interface ProcessTree {
  /** Resolves when none of them runs: nothing is written until `resume`. */
  stop(): Promise<void>;
  resume(): Promise<void>;
  /** Kills all of them, also stopped ones. Their calls fail with the error. */
  end(error: AppError): Promise<void>;
  /** Absent: the tree makes files without asking. */
  names?: NameGrants | undefined;
}

export interface QuotaWatchOptions {
  tree: ProcessTree;
  /** Counts the workspace: `Workspaces.measure`. */
  count: (signal: AbortSignal) => Promise<ScannedUsage>;
  /** The usage before the start. A usage above a limit may shrink but not grow. */
  before: DirectoryUsage;
  limits: WorkspaceLimits;
  /** If absent, calls are assumed to be always under way. */
  activity?: CallActivity;
  space: Pick<FreeSpace, 'bytes' | 'now' | 'minFreeBytes'>;
  logger: Logger;
}

/** The shortest pause between counts, above half of a limit, and the longest. Between them, a fast writer decides. */
const closeMs = 50;
const farMs = 1_000;
const fastestBytesPerMs = 2 * 1_024 * 1_024;
const fastestEntriesPerMs = 50;
const idleMs = 5_000;
/** A pause is at least this many times as long as a count, so that counting takes at most a fifth of the time. */
const pausePerCount = 4;
/** The shortest pauses between looks at the free space, which cost no count: while calls are under way, and while none is. */
const lookMs = 10;
const idleLookMs = 250;
/** The part of a limit by which a tree may exceed it unseen, so that others' writes to the disk do not stop it. */
const slack = 0.01;

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
  const { logger } = options;
  let isBlind = false;
  let mayBeOver = false;
  const freeBytes = await freeNow(options);
  let last: Known = { leftBytes: leftBytes(options, options.before), freeBytes };
  while (!signal.aborted) {
    const startedAt = performance.now();
    let checked: Check | undefined;
    try {
      if (!mayBeOver) checked = await checkWhileLooking(options, last, signal);
      if (checked === undefined || checked.reason !== undefined) checked = await checkStopped(options, signal);
      if (checked.reason !== undefined) return checked.reason;
      last = checked;
      isBlind = false;
    } catch (error) {
      // The next check may succeed, for example after a lack of file descriptors.
      if (!signal.aborted && !isBlind) logger.warn({ error }, 'a workspace could not be watched');
      isBlind = true;
    }
    mayBeOver = await rest(options, { startedAt, checked }, signal);
  }
  return undefined;
}

/** What the tree may still write, and the free space of the disk, when the count began. */
interface Known {
  leftBytes: number;
  freeBytes: number | undefined;
}

interface Check extends Known {
  /** How soon a fast writer could reach half of the nearest limit. */
  leftMs: number;
  /** Why the tree must be ended. */
  reason: AppError | undefined;
  countMs: number;
}

/** Undefined if the tree may have exceeded its bytes during the count, which can take long. */
async function checkWhileLooking(
  options: QuotaWatchOptions,
  last: Known,
  signal: AbortSignal,
): Promise<Check | undefined> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const checking = check(options, both);
  checking.catch(() => undefined);
  const looking = (async () => {
    while (!both.aborted) {
      const left = last.leftBytes - (await writtenSince(last, options));
      if (isFilled(left, options)) return undefined;
      const pauseMs = Math.max(lookMs, left / fastestBytesPerMs);
      await delay(pauseMs, undefined, { signal: both }).catch(() => undefined);
    }
    return checking;
  })();
  looking.catch(() => undefined);
  return Promise.race([checking, looking]).finally(() => over.abort());
}

async function check(options: QuotaWatchOptions, signal: AbortSignal): Promise<Check> {
  const { count, limits, space, tree } = options;
  const startedAt = performance.now();
  // Read both before the count, so that writes during it may be counted twice, but are never missed.
  const asks = tree.names?.isAsked === true;
  const freeAtFirst = await freeNow(options);
  const usage = await count(signal);
  const countMs = performance.now() - startedAt;
  const freeBytes = await space.bytes().catch(() => Infinity);
  const leftMs = Math.min(
    (limits.maxBytes / 2 - usage.bytes) / fastestBytesPerMs,
    (limits.maxFiles / 2 - entries(usage)) / fastestEntriesPerMs,
    (freeBytes - space.minFreeBytes) / 2 / fastestBytesPerMs,
  );
  const reason = reasonToEnd(options, usage, freeBytes);
  if (asks && reason === undefined) {
    // Grant names at the limit too, since the call may be for an existing file.
    const names = Math.max(mostEntries(options) - entries(usage), Math.ceil(limits.maxFiles * slack));
    tree.names?.grant(names);
  }
  return { leftMs, reason, countMs, leftBytes: leftBytes(options, usage), freeBytes: freeAtFirst };
}

function reasonToEnd(
  { before, limits, space }: QuotaWatchOptions,
  usage: ScannedUsage,
  freeBytes: number,
): AppError | undefined {
  const { maxBytes, maxFiles, maxDepth } = limits;
  if (usage.bytes > Math.max(maxBytes, before.bytes)) return exceeded(`at most ${maxBytes} bytes`);
  if (entries(usage) > mostEntries({ before, limits })) return exceeded(`at most ${maxFiles} files and directories`);
  if (usage.tooDeep) return exceeded(`directories are nested more than ${maxDepth} deep`);
  // Others may have filled the disk, so only a tree whose usage has grown is ended.
  const hasGrown = usage.bytes > before.bytes || entries(usage) > entries(before);
  return hasGrown && freeBytes < space.minFreeBytes ? diskFull() : undefined;
}

/** Counting stops at twice the limit. */
const mostEntries = ({ before, limits: { maxFiles } }: Pick<QuotaWatchOptions, 'before' | 'limits'>) =>
  Math.min(Math.max(maxFiles, entries(before)), maxFiles * 2);

/** Counts while the tree is stopped, since it may have deleted files after another count; then ends or resumes it. */
async function checkStopped(options: QuotaWatchOptions, signal: AbortSignal): Promise<Check> {
  const { tree } = options;
  let ended = false;
  try {
    await tree.stop();
    const checked = await check(options, signal);
    if (checked.reason !== undefined) {
      ended = true;
      await tree.end(checked.reason);
    }
    return checked;
  } finally {
    // Resume after a failed or aborted count too, or the tree would stay stopped for ever.
    if (!ended) await tree.resume();
  }
}

/** Waits until the next count is due. Returns whether the tree may have exceeded its bytes, by what the disk has lost. */
async function rest(
  options: QuotaWatchOptions,
  { startedAt, checked }: { startedAt: number; checked: Check | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const { activity, tree } = options;
  const countMs = checked?.countMs ?? 0;
  const pauseMs = checked === undefined ? farMs : pauseAfter(checked.leftMs, countMs);
  while (!signal.aborted) {
    const isIdle = activity?.isBusy === false;
    const passedMs = performance.now() - startedAt;
    // A tree that asks for names waits, so count soon, but for at most a fifth of the time.
    const asks = tree.names?.isAsked === true && checked !== undefined;
    const restMs = asks ? countMs * pausePerCount : isIdle ? Math.max(pauseMs, idleMs) : pauseMs;
    if (passedMs >= restMs) return false;
    const left = checked === undefined ? Infinity : checked.leftBytes - (await writtenSince(checked, options));
    // Not soon after a count, or a tree would be stopped all the time while others write much.
    if (isFilled(left, options) && passedMs >= Math.max(countMs * 2, isIdle ? farMs : 0)) return true;
    const pause = Math.max(isIdle ? idleLookMs : lookMs, left / fastestBytesPerMs);
    await nap(options, Math.min(pause, restMs - passedMs), signal);
  }
  return false;
}

const leftBytes = ({ before, limits }: QuotaWatchOptions, usage: DirectoryUsage) =>
  Math.max(limits.maxBytes, before.bytes) - usage.bytes;

const isFilled = (left: number, { limits }: QuotaWatchOptions) => left < -limits.maxBytes * slack;

const freeNow = ({ space }: QuotaWatchOptions) => space.now().catch(() => undefined);

async function writtenSince({ freeBytes }: Known, options: QuotaWatchOptions): Promise<number> {
  const now = await freeNow(options);
  return freeBytes === undefined || now === undefined ? 0 : freeBytes - now;
}

/** Waits for `ms`, or until the tree asks for names or a call starts. */
async function nap({ tree, activity }: QuotaWatchOptions, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const abort = () => over.abort();
  signal.addEventListener('abort', abort);
  const waits: Promise<void>[] = [delay(ms, undefined, { signal: over.signal }).catch(() => undefined)];
  if (tree.names?.isAsked === false) waits.push(tree.names.asked(over.signal));
  if (activity?.isBusy === false) waits.push(activity.started(ms, over.signal));
  await Promise.race(waits);
  abort();
  signal.removeEventListener('abort', abort);
}

const entries = ({ files, directories }: DirectoryUsage) => files + directories;

function pauseAfter(leftMs: number, countMs: number): number {
  return Math.max(closeMs, Math.min(farMs, leftMs), countMs * pausePerCount);
}

const exceeded = (what: string) =>
  new AppError(
    'workspace_quota_exceeded',
    `The tool was stopped because it filled the workspace: ${what}. Delete files, then try again.`,
  );
