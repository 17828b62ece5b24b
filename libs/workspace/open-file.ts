// A file open for reading: what it is, and its bytes as a stream that holds one chunk at a time.
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { AppError } from '#libs/schemas/errors.js';

export interface FileInfo {
  size: number;
  modifiedAt: Date;
  createdAt: Date;
  type: 'file' | 'directory' | 'link' | 'other';
  /** Strong validator: changes whenever the content may have changed. Includes its quotes. */
  etag: string;
}

export function toFileInfo(stats: BigIntStats): FileInfo {
  return {
    size: Number(stats.size),
    modifiedAt: toDate(stats.mtimeMs),
    createdAt: toDate(stats.birthtimeMs),
    type: typeOf(stats),
    etag: `"${stats.ino.toString(36)}-${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}"`,
  };
}

/** Tools may set any time; a time that a Date cannot hold becomes the epoch. */
function toDate(ms: bigint): Date {
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}

function typeOf(stats: BigIntStats): FileInfo['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

const chunkBytes = 256 * 1024;

export class OpenFile {
  constructor(
    private readonly handle: FileHandle,
    readonly info: FileInfo,
  ) {}

  /**
   * The bytes from `start` up to but not including `end`. Ends early only by throwing: a file that became shorter
   * is an error, not a short answer. Does not close the file.
   */
  async *read(range: { start?: number; end?: number }, signal?: AbortSignal): AsyncGenerator<Buffer> {
    const end = Math.min(range.end ?? this.info.size, this.info.size);
    let position = range.start ?? 0;
    while (position < end) {
      signal?.throwIfAborted();
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - position));
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) throw new AppError('tool_failed', 'The file became shorter while it was read');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
