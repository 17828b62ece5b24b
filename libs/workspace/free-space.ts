// The file system under the workspaces: nothing is written there when it has less left than a reserve, which others on the
// same disk live on. Looked up once a second at most; what this process writes in between is taken off.
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

  /** What is free, less what was claimed since it was looked up. Rejects when the file system does not tell. */
  async bytes(): Promise<number> {
    if (this.looked === undefined || performance.now() - this.looked.at >= keptMs) {
      this.looked = { bytes: freeBytes(this.directory), at: performance.now(), claimed: 0 };
    }
    const looked = this.looked;
    return (await looked.bytes) - looked.claimed;
  }

  /** Before so many bytes are written. @throws AppError workspace_disk_full */
  async claim(bytes: number): Promise<void> {
    await this.check(bytes);
    this.looked!.claimed += bytes;
  }

  /** The same, with nothing claimed: of what will come later. @throws AppError workspace_disk_full */
  async check(bytes = 0): Promise<void> {
    // Where it does not tell, the write itself says what is wrong.
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
    'The disk of the workspaces is full, which is for the operator to solve. Files can be read and deleted, not written.',
    { cause },
  );
