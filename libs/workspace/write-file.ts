// Writes one file completely or not at all: under a new name beside it, renamed when complete; a failed append is cut
// back. No fsync: a power failure loses the last seconds, never half of an existing file.
import { randomBytes } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { rename, unlink, type FileHandle } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '#libs/schemas/errors.js';
import { checkRegular, type Directory } from './directory.js';
import { errorCode, isDirectory, isLink, notRegular } from './file-errors.js';
import type { FreeSpace } from './free-space.js';
import { toFileInfo, type FileInfo } from './open-file.js';
import { unfinished } from './scan-usage.js';
import type { Reservation, UsageLedger } from './usage-ledger.js';
import { reservedPrefix } from './workspace-path.js';

export type WriteSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface WriteOptions {
  append?: boolean;
  createDirectories?: boolean;
  /** Expected size, if known; a write that is too large is refused at once. */
  sizeHint?: number;
  /** Checks the existing file (undefined: none) and throws to refuse; called again right before it is replaced. */
  expected?: (current: FileInfo | undefined) => void;
  signal?: AbortSignal | undefined;
}

export interface Written {
  info: FileInfo;
  created: boolean;
}

export interface WriteTarget {
  parent: Directory;
  name: string;
  /** The path as the caller gave it. */
  shown: string;
  key: string;
  ledger: UsageLedger;
  space: FreeSpace;
  /** Whether this process may still finish a write that began then (`performance.now()`); absent: always. */
  isOurs?: ((since: number) => boolean) | undefined;
}

/** A longer write may have been suspended with its process. */
const heldUpMs = 1_000;
/** Time for pending events to arrive: a disconnect or a cancellation. No event says that there are none. */
const hearMs = 50;

export function writeFile(target: WriteTarget, source: WriteSource, options: WriteOptions): Promise<Written> {
  return options.append === true ? append(target, source, options) : replace(target, source, options);
}

async function replace(target: WriteTarget, source: WriteSource, options: WriteOptions): Promise<Written> {
  const { parent, ledger, key } = target;
  const startedAt = performance.now();
  const before = await current(target, options);
  const credit = { bytes: before === undefined ? 0 : Number(before.size), entries: before === undefined ? 0 : 1 };
  const reservation = ledger.reserve(key, credit);
  const temporary = `${reservedPrefix}${randomBytes(8).toString('hex')}.part`;
  unfinished.add(temporary);
  try {
    refuseTooMuch(reservation, source, options);
    reservation.grow(0, 1);
    const handle = await parent.createFile(temporary, modeOf(before));
    const written = { bytes: 0 };
    try {
      await giveToOwner(handle, parent);
      await copy(source, handle, { reservation, space: target.space, signal: options.signal, written });
    } finally {
      await handle.close();
    }
    return await ledger.exclusively(key, options.signal, async () => {
      // Other writers may have been faster: the file is checked again while nothing in this process changes names.
      const replaced = await current(target, options);
      reservation.settle(written.bytes, replaced === undefined ? undefined : Number(replaced.size));
      await confirm(target, startedAt, options.signal);
      await rename(parent.child(temporary), parent.child(target.name));
      const gone = replaced === undefined ? 0 : Number(replaced.size);
      reservation.keep({ bytes: written.bytes - gone, files: replaced === undefined ? 1 : 0 });
      const info = toFileInfo((await parent.stat(target.name)) ?? missing(target));
      return { info, created: replaced === undefined };
    });
  } catch (error) {
    await unlink(parent.child(temporary)).catch(() => undefined);
    throw error;
  } finally {
    reservation.release();
    unfinished.delete(temporary);
  }
}

/** The last check before a file changes: a suspended process must not overwrite newer content with old. */
async function confirm(target: WriteTarget, startedAt: number, signal: AbortSignal | undefined): Promise<void> {
  if (performance.now() - startedAt > heldUpMs) {
    await delay(hearMs);
    if (target.isOurs?.(startedAt) === false) throw outOfTouch(target);
  }
  signal?.throwIfAborted();
}

/**
 * Appends hold the workspace's names while they write, so that two do not mix. Another worker may append at the same
 * time: its data stays.
 */
async function append(target: WriteTarget, source: WriteSource, options: WriteOptions): Promise<Written> {
  const { parent, ledger, key } = target;
  const startedAt = performance.now();
  return ledger.exclusively(key, options.signal, async () => {
    const isThere = (await current(target, options)) !== undefined;
    await confirm(target, startedAt, options.signal);
    const reservation = ledger.reserve(key);
    refuseTooMuch(reservation, source, options);
    if (!isThere) reservation.grow(0, 1);
    try {
      const { handle, created } = await openToAppend(target, isThere);
      try {
        if (created) await giveToOwner(handle, parent);
        const before = created ? 0 : (await handle.stat()).size;
        const written = { bytes: 0 };
        try {
          await copy(source, handle, { reservation, space: target.space, signal: options.signal, written });
        } catch (error) {
          const isOurEnd = (await handle.stat()).size === before + written.bytes;
          if (isOurEnd && created) await unlink(parent.child(target.name));
          else if (isOurEnd) await handle.truncate(before);
          throw error;
        }
        reservation.keep({ bytes: written.bytes, files: created ? 1 : 0 });
        return { info: toFileInfo(await handle.stat({ bigint: true })), created };
      } finally {
        await handle.close();
      }
    } finally {
      reservation.release();
    }
  });
}

async function openToAppend({ parent, name, shown }: WriteTarget, isThere: boolean) {
  if (!isThere) {
    try {
      return { handle: await parent.createFile(name, modeOf(undefined)), created: true };
    } catch (error) {
      // Another worker has created the file meanwhile.
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
  const flags = constants.O_WRONLY | constants.O_APPEND;
  return { handle: await parent.openFile(name, flags, shown), created: false };
}

/** The entry that has the name now; refused if a file may not replace it. */
async function current(target: WriteTarget, options: WriteOptions): Promise<BigIntStats | undefined> {
  const stats = await target.parent.stat(target.name);
  if (stats?.isDirectory() === true) throw isDirectory(target.shown);
  if (stats?.isSymbolicLink() === true) throw isLink(target.shown);
  if (stats !== undefined && !stats.isFile()) throw notRegular(target.shown);
  if (stats !== undefined && options.append === true) checkRegular(stats, target.shown);
  options.expected?.(stats === undefined ? undefined : toFileInfo(stats));
  return stats;
}

function refuseTooMuch(reservation: Reservation, source: WriteSource, options: WriteOptions): void {
  const known = source instanceof Uint8Array ? source.length : options.sizeHint;
  if (known === undefined) return;
  reservation.grow(known);
  reservation.release();
}

interface CopyOptions {
  reservation: Reservation;
  space: FreeSpace;
  signal: AbortSignal | undefined;
  /** Counts while copying, so that the number is right even after a failure. */
  written: { bytes: number };
}

async function copy(source: WriteSource, handle: FileHandle, options: CopyOptions): Promise<void> {
  const chunks = source instanceof Uint8Array ? [source] : source;
  for await (const chunk of chunks) {
    options.signal?.throwIfAborted();
    options.reservation.grow(chunk.length);
    await options.space.claim(chunk.length);
    for (let offset = 0; offset < chunk.length;) {
      const { bytesWritten } = await handle.write(chunk, offset, chunk.length - offset);
      offset += bytesWritten;
      options.written.bytes += bytesWritten;
    }
  }
  options.signal?.throwIfAborted();
}

/** A replaced file keeps its permissions, without set-id bits. */
const modeOf = (before: BigIntStats | undefined) => (before === undefined ? 0o600 : Number(before.mode & 0o777n));

async function giveToOwner(handle: FileHandle, parent: Directory): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await parent.handle.stat();
  if (uid !== 0) await handle.chown(uid, gid);
}

const outOfTouch = ({ shown }: WriteTarget) =>
  new AppError('tool_unavailable', `'${shown}' was not written: the worker was out of touch for too long`);

function missing(target: WriteTarget): never {
  throw new AppError('tool_failed', `'${target.shown}' was removed while it was written`);
}
