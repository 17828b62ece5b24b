import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { watchFiles } from './watch-files.js';

let directory: string;
let changes: number;
let watch: { close(): void } | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'watch-'));
  changes = 0;
});
afterEach(() => {
  watch?.close();
  rmSync(directory, { recursive: true });
});

function start(path: string, pollMs = 20): void {
  watch = watchFiles(() => [path], { pollMs, onChange: () => void (changes += 1) });
}
const changed = (times: number) => expect.poll(() => changes, { timeout: 20_000 }).toBe(times);

test('a link that is moved is a change, as Kubernetes does it', async () => {
  for (const version of ['v1', 'v2']) {
    mkdirSync(join(directory, version));
    writeFileSync(join(directory, version, 'file'), 'same length');
  }
  symlinkSync('v1', join(directory, '..data'));
  symlinkSync('..data/file', join(directory, 'file'));
  start(join(directory, 'file'));
  // The file was written after the start of this process.
  await changed(1);
  symlinkSync('v2', join(directory, '..new'));
  renameSync(join(directory, '..new'), join(directory, '..data'));
  await changed(2);
});

test('a file whose directory is made later is a change', async () => {
  const path = join(directory, 'later', 'file');
  start(path);
  mkdirSync(join(directory, 'later'));
  writeFileSync(path, 'x');
  await changed(1);
});

test('what goes and comes back in a moment is one change; other files are none', async () => {
  const path = join(directory, 'file');
  start(path, 300);
  writeFileSync(path, 'x');
  await changed(1);
  writeFileSync(join(directory, 'other'), 'x');
  rmSync(path);
  writeFileSync(path, 'y');
  await changed(2);
});
