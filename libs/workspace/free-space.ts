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

  /** Free bytes, less those claimed since the last read. Rejects if the file system does not report them. */
  async bytes(): Promise<number> {
    if (this.looked === undefined || performance.now() - this.looked.at >= keptMs) {
      this.looked = { bytes: freeBytes(this.directory), at: performance.now(), claimed: 0 };
    }
    const looked = this.looked;
    return (await looked.bytes) - looked.claimed;
  }

  /** The same without claims, read now. */
  now(): Promise<number> {
    return freeBytes(this.directory);
  }

  /** Call it before writing this many bytes. @throws AppError workspace_disk_full */
  async claim(bytes: number): Promise<void> {
    await this.check(bytes);
    this.looked!.claimed += bytes;
  }

  /** The same without a claim, for later writes. @throws AppError workspace_disk_full */
  async check(bytes = 0): Promise<void> {
    // If it does not report them, the write itself reports the error.
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
