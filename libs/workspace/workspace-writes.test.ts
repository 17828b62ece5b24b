import { readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  codeOf,
  createTestWorkspace,
  readText,
  testLimits as limits,
  type TestWorkspace,
} from '../../test/support/test-workspace.js';
import { verifies } from '../../test/verifies.js';
import { toFileError, toStorageError } from './file-errors.js';
import type { Workspace } from './workspace.js';
import { Workspaces } from './workspaces.js';

let made: TestWorkspace;
let workspace: Workspace;
let host: string;

beforeEach(async () => {
  made = await createTestWorkspace();
  ({ workspace, host } = made);
});

afterEach(() => made.remove());

const bytes = (text: string) => Buffer.from(text);
const read = (path: string) => readText(workspace, path);

describe('quota', () => {
  verifies('tools.workspace-quota-exact', 'bytes', async () => {
    await workspace.write('full', Buffer.alloc(limits.maxBytes));
    expect(await workspace.usage()).toEqual({ bytes: limits.maxBytes, files: 1, directories: 0 });
    expect(await codeOf(workspace.write('more', bytes('x')))).toBe('workspace_quota_exceeded');
    expect(await codeOf(workspace.write('full', bytes('x'), { append: true }))).toBe('workspace_quota_exceeded');
    await workspace.write('full', Buffer.alloc(limits.maxBytes, 1));
    await workspace.remove('full');
    await workspace.write('more', bytes('x'));
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'more']);
  });

  verifies('tools.workspace-quota-exact', 'a stream that becomes too long leaves nothing', async () => {
    await workspace.write('kept', bytes('kept'));
    const endless = (async function* () {
      for (;;) yield Buffer.alloc(10_000);
    })();
    expect(await codeOf(workspace.write('kept', endless))).toBe('workspace_quota_exceeded');
    expect(await read('kept')).toBe('kept');
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'kept']);
    await workspace.write('rest', Buffer.alloc(limits.maxBytes - 4));
  });

  verifies('tools.workspace-quota-exact', 'concurrent writers together', async () => {
    const writers = Array.from({ length: 20 }, (_, index) =>
      codeOf(workspace.write(`w${index}`, Buffer.alloc(limits.maxBytes / 10))),
    );
    const codes = await Promise.all(writers);
    expect(codes.filter((code) => code === 'ok')).toHaveLength(10);
    expect((await workspace.usage({ force: true })).bytes).toBe(limits.maxBytes);
  });

  verifies('tools.workspace-quota-exact', 'what was to be replaced is moved away meanwhile', async () => {
    await workspace.write('old', Buffer.alloc(limits.maxBytes - 10));
    const source = (async function* () {
      yield Buffer.alloc(100_000);
      await workspace.move('old', 'kept');
      yield Buffer.alloc(100_000);
    })();
    expect(await codeOf(workspace.write('old', source))).toBe('workspace_quota_exceeded');
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'kept']);
  });

  verifies('tools.workspace-quota-exact', 'files', async () => {
    for (let index = 0; index < limits.maxFiles - 1; index += 1) await workspace.write(`f${index}`, bytes(''));
    await workspace.makeDirectory('last');
    expect(await codeOf(workspace.write('one', bytes('')))).toBe('workspace_quota_exceeded');
    expect(await codeOf(workspace.makeDirectory('two'))).toBe('workspace_quota_exceeded');
    await workspace.write('f0', bytes('replaced'));
  });

  verifies('tools.workspace-quota-exact', 'depth', async () => {
    const deepest = Array.from({ length: limits.maxDepth }, () => 'd').join('/');
    await workspace.write(`${deepest}/file`, bytes('x'), { createDirectories: true });
    expect(await codeOf(workspace.write(`${deepest}/d/file`, bytes('x'), { createDirectories: true }))).toBe(
      'workspace_quota_exceeded',
    );
    expect(await codeOf(workspace.makeDirectory('e/'.repeat(500)))).toBe('workspace_quota_exceeded');
  });

  test('what others wrote is counted: a sparse terabyte, a deep tree', async () => {
    writeFileSync(join(host, 'sparse'), '');
    truncateSync(join(host, 'sparse'), 2 ** 40);
    expect(await codeOf(workspace.write('x', bytes('x')))).toBe('workspace_quota_exceeded');
    await workspace.remove('sparse');
    await workspace.write('x', bytes('x'));
  });

  test('what another process removed is free again at once', async () => {
    await workspace.write('big', Buffer.alloc(limits.maxBytes - 10));
    rmSync(join(host, 'big'));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await codeOf(workspace.write('next', Buffer.alloc(1_000)))).toBe('ok');
  });
});

describe('reserve of free space', () => {
  const withReserve = async (minFreeBytes: number, maxBytes = limits.maxBytes) =>
    (await Workspaces.open(made.root, { ...limits, maxBytes, minFreeBytes })).workspace({
      id: 'sess_a',
      directory: 'dir-a',
    });

  verifies('tools.workspace-free-reserve', 'nothing is written, what is there is read, moved and deleted', async () => {
    await workspace.write('kept', bytes('kept'));
    const full = await withReserve(Number.MAX_SAFE_INTEGER);
    for (const write of [
      () => full.write('new', bytes('')),
      () => full.write('kept', bytes('x')),
      () => full.write('kept', bytes('x'), { append: true }),
      () => full.makeDirectory('directory'),
    ]) {
      expect(await codeOf(write())).toBe('workspace_disk_full');
    }
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'kept']);
    expect(await readText(full, 'kept')).toBe('kept');
    await full.move('kept', 'moved');
    await full.remove('moved');
    expect(readdirSync(host)).toEqual(['.tmp']);
  });

  verifies('tools.workspace-free-reserve', 'a stream that reaches it leaves nothing', async () => {
    const { bavail, bsize } = statfsSync(host);
    // One byte more than whole blocks: whatever the stream takes of it, one byte is left.
    const nearlyFull = await withReserve(bavail * bsize - 16 * 2 ** 20 - 1, 2 ** 40);
    const endless = (async function* () {
      for (;;) yield Buffer.alloc(2 ** 20);
    })();
    expect(await codeOf(nearlyFull.write('large', endless))).toBe('workspace_disk_full');
    expect(await codeOf(nearlyFull.write('large', bytes('x'), { sizeHint: 2 ** 39 }))).toBe('ok');
    const announced = { sizeHint: 2 ** 39 };
    expect(await codeOf(nearlyFull.write('large', endless, announced))).toBe('workspace_disk_full');
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'large']);
  });

  verifies(
    'tools.workspace-free-reserve',
    'a disk that is full, at the file and at the directory of the session',
    async () => {
      const full: unknown = await writeFile('/dev/full', 'x').catch((error: unknown) => error);
      for (const reported of [toFileError(full, 'new'), toStorageError(full, '/nowhere')]) {
        expect(reported).toMatchObject({ code: 'workspace_disk_full', cause: { code: 'ENOSPC' } });
      }
    },
  );
});

describe('writes', () => {
  verifies('tools.workspace-writes-whole', 'a source that fails', async () => {
    await workspace.write('file', bytes('before'));
    const failing = () =>
      (async function* () {
        yield bytes('half');
        throw new Error('cut');
      })();
    await expect(workspace.write('file', failing())).rejects.toThrow('cut');
    await expect(workspace.write('file', failing(), { append: true })).rejects.toThrow('cut');
    expect(await read('file')).toBe('before');
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'file']);
  });

  verifies('tools.workspace-writes-whole', 'cancelled', async () => {
    const stop = new AbortController();
    const source = (async function* () {
      yield bytes('half');
      stop.abort();
      yield bytes('rest');
    })();
    await expect(workspace.write('file', source, { signal: stop.signal })).rejects.toThrow();
    expect(readdirSync(host)).toEqual(['.tmp']);
  });

  /** For `expected`: at its last look the process stops, as SIGSTOP has it, and with it all that would be heard. */
  const stoppedAtLast = (meanwhile: () => void = () => undefined) => {
    let looks = 0;
    return () => {
      looks += 1;
      if (looks < 2) return;
      meanwhile();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_010);
    };
  };

  verifies('tools.workspace-writes-not-late', 'its caller left meanwhile', async () => {
    await workspace.write('file', bytes('newer'));
    const gone = new AbortController();
    const expected = stoppedAtLast(() => setTimeout(() => gone.abort(), 0));
    await expect(workspace.write('file', bytes('old'), { expected, signal: gone.signal })).rejects.toThrow();
    expect(await read('file')).toBe('newer');
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'file']);
  });

  verifies('tools.workspace-writes-not-late', 'its worker was given up meanwhile', async () => {
    const lost = (await Workspaces.open(made.root, limits, () => false)).workspace({
      id: 'sess_a',
      directory: 'dir-a',
    });
    await lost.write('file', bytes('newer'));
    expect(await codeOf(lost.write('file', bytes('old'), { expected: stoppedAtLast() }))).toBe('tool_unavailable');
    expect(await read('file')).toBe('newer');
    expect(readdirSync(host).sort()).toEqual(['.tmp', 'file']);
  });

  test('appends add up and do not mix', async () => {
    await Promise.all(
      ['aaaa\n', 'bbbb\n', 'cccc\n'].map((line) => workspace.write('log', bytes(line), { append: true })),
    );
    expect((await read('log')).split('\n').sort()).toEqual(['', 'aaaa', 'bbbb', 'cccc']);
    await workspace.write('log', bytes('end'), { append: true });
    expect(await read('log')).toMatch(/end$/);
  });

  verifies('tools.workspace-writes-whole', 'another worker appends meanwhile: what it wrote stays', async () => {
    const other = (await Workspaces.open(made.root, limits)).workspace({ id: 'sess_a', directory: 'dir-a' });
    const append = (last: () => Buffer) =>
      workspace.write(
        'log',
        (async function* () {
          await other.write('log', bytes('other\n'), { append: true });
          yield last();
        })(),
        { append: true },
      );
    const cut = () => {
      throw new Error('cut');
    };
    // On a file that the append made, then on one that was there.
    await expect(append(cut)).rejects.toThrow('cut');
    await append(() => bytes('own\n'));
    await expect(append(cut)).rejects.toThrow('cut');
    expect(await read('log')).toBe('other\nother\nown\nother\n');
    await workspace.remove('log');
    await append(() => bytes('own\n'));
    expect(await read('log')).toBe('other\nown\n');
  });

  test('missing directories are made only when asked', async () => {
    expect(await codeOf(workspace.write('a/b/c', bytes('x')))).toBe('file_not_found');
    await workspace.write('a/b/c', bytes('x'), { createDirectories: true });
    expect(await read('a/b/c')).toBe('x');
    expect(await workspace.usage()).toMatchObject({ files: 1, directories: 2 });
  });

  test('moving keeps what is there unless told', async () => {
    await workspace.write('a', bytes('a'));
    await workspace.write('b', bytes('b'));
    expect(await codeOf(workspace.move('a', 'b'))).toBe('invalid_value');
    await workspace.move('a', 'b', { overwrite: true });
    expect(await read('b')).toBe('a');
    await workspace.makeDirectory('d');
    expect(await codeOf(workspace.move('d', 'd/e'))).toBe('invalid_value');
    await workspace.move('b', 'd/b');
    expect(await workspace.usage()).toEqual(await workspace.usage({ force: true }));
  });
});
