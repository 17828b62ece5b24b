// A directory as a tar archive (POSIX ustar with pax records), streamed: one chunk of one file is held at a time.
// Regular files and directories only: links, devices and pipes are left out.
import { constants } from 'node:fs';
import { AppError } from '#libs/schemas/errors.js';
import type { Directory } from './directory.js';
import { errorCode } from './file-errors.js';
import { walk, type Entry } from './walk.js';

const blockBytes = 512;
const chunkBytes = 256 * 1024;

export interface TarOptions {
  maxDepth: number;
  signal?: AbortSignal | undefined;
}

/** The archive's bytes. Does not close the directory. What vanishes meanwhile is left out. */
export async function* tarStream(directory: Directory, options: TarOptions): AsyncGenerator<Buffer> {
  for await (const entry of walk(directory, { ...options, maxDepth: options.maxDepth + 1 })) {
    if (entry.stats.isDirectory()) yield header(entry, 0);
    else if (entry.stats.isFile()) yield* file(entry, options.signal);
  }
  yield Buffer.alloc(blockBytes * 2);
}

async function* file(entry: Entry, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const handle = await entry.parent.openFile(entry.name, constants.O_RDONLY, entry.path).catch((error: unknown) => {
    // Gone, replaced or closed to us since it was listed: no part of the archive.
    if (error instanceof AppError || ['ENOENT', 'ELOOP', 'EACCES', 'ENXIO'].includes(errorCode(error) ?? '')) {
      return undefined;
    }
    throw error;
  });
  if (handle === undefined) return;
  try {
    const { size } = await handle.stat();
    yield header(entry, size);
    for (let position = 0; position < size;) {
      signal?.throwIfAborted();
      const buffer = Buffer.alloc(Math.min(chunkBytes, size - position));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
      // The header has promised the size: a file that became shorter is filled up with zeros.
      const used = bytesRead === 0 ? buffer.length : bytesRead;
      position += used;
      yield buffer.subarray(0, used);
    }
    const rest = size % blockBytes;
    if (rest > 0) yield Buffer.alloc(blockBytes - rest);
  } finally {
    await handle.close();
  }
}

function header(entry: Entry, size: number): Buffer {
  const isDirectory = entry.stats.isDirectory();
  const path = isDirectory ? `${entry.path}/` : entry.path;
  const records: Record<string, string> = {};
  const plain = /^[\x20-\x7e]+$/.test(path) && path.length <= 100;
  if (!plain) records['path'] = path;
  if (size > 0o77777777777) records['size'] = String(size);
  const fields = {
    name: plain ? path : `entry-${entry.stats.ino}`.slice(0, 99),
    mode: Number(entry.stats.mode & 0o777n),
    size: Math.min(size, 0o77777777777),
    mtime: Math.min(Math.max(0, Math.floor(Number(entry.stats.mtimeMs) / 1000)), 0o77777777777),
    type: isDirectory ? '5' : '0',
  };
  const own = block(fields);
  return Object.keys(records).length === 0 ? own : Buffer.concat([paxRecords(records, fields.mtime), own]);
}

function paxRecords(records: Record<string, string>, mtime: number): Buffer {
  const body = Buffer.concat(Object.entries(records).map(([key, value]) => paxRecord(key, value)));
  const padding = Buffer.alloc((blockBytes - (body.length % blockBytes)) % blockBytes);
  const fields = { name: 'PaxHeader', mode: 0o600, size: body.length, mtime, type: 'x' };
  return Buffer.concat([block(fields), body, padding]);
}

/** `<length> key=value\n`, the length counting itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function block(fields: { name: string; mode: number; size: number; mtime: number; type: string }): Buffer {
  const buffer = Buffer.alloc(blockBytes);
  buffer.write(fields.name, 0, 100, 'latin1');
  octal(buffer, fields.mode, { at: 100, width: 8 });
  octal(buffer, 0, { at: 108, width: 8 });
  octal(buffer, 0, { at: 116, width: 8 });
  octal(buffer, fields.size, { at: 124, width: 12 });
  octal(buffer, fields.mtime, { at: 136, width: 12 });
  buffer.fill(' ', 148, 156);
  buffer.write(fields.type, 156, 1, 'latin1');
  buffer.write('ustar\x0000', 257, 8, 'latin1');
  let sum = 0;
  for (const byte of buffer) sum += byte;
  buffer.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
  return buffer;
}

function octal(buffer: Buffer, value: number, field: { at: number; width: number }): void {
  buffer.write(`${value.toString(8).padStart(field.width - 1, '0')}\0`, field.at, field.width, 'latin1');
}
