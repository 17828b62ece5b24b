// The file system under the workspaces: nothing is written if less than a reserve is free, which others on the same
// disk need. Read at most once a second; writes of this process in between are subtracted.
import { statfs } from 'node:fs/promises';
import { AppError } from '#libs/schemas/errors.js';

const keptMs = 1_000;

export class FreeSpace {
  private looked: { bytes: Promise<number>; at: number; claimed: number } | undefined;

  constructor(
    private readonly directory: string,
    /** `workspaces.min_free_bytes` */
    readonly minFreeBytes: number,
  ) {}

  /** Free bytes minus the bytes claimed since the last read. Rejects if the file system does not report free space. */
  async bytes(): Promise<number> {
    if (this.looked === undefined || performance.now() - this.looked.at >= keptMs) {
      this.looked = { bytes: freeBytes(this.directory), at: performance.now(), claimed: 0 };
    }
    const looked = this.looked;
    return (await looked.bytes) - looked.claimed;
  }

  /** Free bytes without claims, read now. */
  now(): Promise<number> {
    return freeBytes(this.directory);
  }

  /** Call it before writing this many bytes. @throws AppError workspace_disk_full */
  async claim(bytes: number): Promise<void> {
    await this.check(bytes);
    this.looked!.claimed += bytes;
  }

  /** Checks the free space without a claim, for later writes. @throws AppError workspace_disk_full */
  async check(bytes = 0): Promise<void> {
    // If the file system does not report free space, the write itself fails.
    const free = await this.bytes().catch(() => Infinity);
    if (free - bytes < this.minFreeBytes) throw diskFull();
  }
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

export const diskFull = (cause?: unknown) =>
  new AppError(
    'workspace_disk_full',
    'The disk of the workspaces is full: ask the operator to free space. Files can be read and deleted, not written.',
    { cause },
  );
