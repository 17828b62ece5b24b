// A directory as a tar archive (POSIX ustar with pax records), streamed: holds one chunk of one file at a time.
// Regular files and directories only: links, devices and pipes are skipped. A failure after the start is an error,
// never an archive that looks complete.
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { AppError } from '#libs/schemas/errors.js';
import type { Directory } from './directory.js';
import { errorCode } from './file-errors.js';
import { levelsBelowLimit } from './scan-usage.js';
import { quota } from './usage-ledger.js';
import { walk, type Entry } from './walk.js';

const blockBytes = 512;
const chunkBytes = 256 * 1024;
/** Limits of the ustar fields; larger values go into pax records. */
const maxPlainPath = 100;
const maxOctal = 0o77777777777;

export interface TarOptions {
  /** The depth limit of the workspace; a few more levels are archived, anything deeper is an error. */
  maxDepth: number;
  signal?: AbortSignal | undefined;
}

/**
 * The archive's bytes. Does not close the directory. Skips files that disappear before their turn or are unreadable.
 * @throws AppError workspace_quota_exceeded, tool_failed (a file became shorter than its header says)
 */
export async function* tarStream(directory: Directory, options: TarOptions): AsyncGenerator<Buffer> {
  const deepest = options.maxDepth + levelsBelowLimit;
  for await (const entry of walk(directory, { ...options, maxDepth: deepest })) {
    if (entry.depth >= deepest && entry.stats.isDirectory()) throw tooDeep(options.maxDepth);
    if (entry.stats.isDirectory()) yield header(entry, 0);
    else if (entry.stats.isFile()) yield* file(entry, options.signal);
  }
  yield Buffer.alloc(blockBytes * 2);
}

async function* file(entry: Entry, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  if (entry.stats.size === 0n && entry.stats.nlink === 1n) return yield header(entry, 0);
  const handle = await entry.parent.openFile(entry.name, constants.O_RDONLY, entry.path).catch((error: unknown) => {
    // Skip a file that was deleted, replaced or made unreadable since it was listed.
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
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) throw becameShorter();
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    const rest = size % blockBytes;
    if (rest > 0) yield Buffer.alloc(blockBytes - rest);
  } finally {
    await handle.close();
  }
}

function header(entry: Entry, size: number): Buffer {
  const isDirectory = entry.stats.isDirectory();
  const path = Buffer.concat([entry.rawPrefix, entry.name, Buffer.from(isDirectory ? '/' : '')]);
  const mtime = Math.floor(Number(entry.stats.mtimeMs) / 1000);
  const records: Record<string, string | Buffer> = {};
  const plain = path.length <= maxPlainPath && /^[\x20-\x7e]+$/.test(path.toString('latin1'));
  if (!isUtf8(path)) records['hdrcharset'] = 'BINARY';
  if (!plain) records['path'] = path;
  if (size > maxOctal) records['size'] = String(size);
  if (mtime < 0 || mtime > maxOctal) records['mtime'] = String(mtime);
  const fields = {
    name: plain ? path.toString('latin1') : `entry-${entry.stats.ino}`.slice(0, maxPlainPath),
    mode: Number(entry.stats.mode & 0o777n),
    size: Math.min(size, maxOctal),
    mtime: Math.min(Math.max(0, mtime), maxOctal),
    type: isDirectory ? '5' : '0',
  };
  const own = block(fields);
  return Object.keys(records).length === 0 ? own : Buffer.concat([paxRecords(records, fields.mtime), own]);
}

function paxRecords(records: Record<string, string | Buffer>, mtime: number): Buffer {
  const body = Buffer.concat(Object.entries(records).map(([key, value]) => paxRecord(key, value)));
  const padding = Buffer.alloc((blockBytes - (body.length % blockBytes)) % blockBytes);
  const fields = { name: 'PaxHeader', mode: 0o600, size: body.length, mtime, type: 'x' };
  return Buffer.concat([block(fields), body, padding]);
}

/** `<length> key=value\n`, where the length includes itself. */
function paxRecord(key: string, value: string | Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
  let length = bytes.length + String(bytes.length).length;
  if (bytes.length + String(length).length !== length) length = bytes.length + String(length).length;
  return Buffer.concat([Buffer.from(String(length)), bytes]);
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

const tooDeep = (maxDepth: number) => quota(`directories are nested more than ${maxDepth} deep`);
const becameShorter = () => new AppError('tool_failed', 'A file became shorter while it was read');
