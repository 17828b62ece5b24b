import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { droppedLines, openOutput } from './bounded-output.js';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

/** A pipe whose reader reads when told to; it holds 64 KiB by itself. */
function openPipe() {
  const directory = mkdtempSync(join(tmpdir(), 'output-'));
  const path = join(directory, 'pipe');
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const open = new Set([reader, fd]);
  const close = (one: number) => {
    if (open.delete(one)) closeSync(one);
  };
  cleanups.push(() => {
    for (const one of open) close(one);
    rmSync(directory, { recursive: true });
  });
  const buffer = Buffer.alloc(1_000_000);
  const read = (): string => {
    let text = '';
    for (;;) {
      try {
        const count = readSync(reader, buffer);
        if (count === 0) return text;
        text += buffer.toString('utf8', 0, count);
      } catch (error) {
        expect(error).toMatchObject({ code: 'EAGAIN' });
        return text;
      }
    }
  };
  return { fd, read, leave: () => close(reader) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const line = (index: number) => `${index} `.padEnd(999, 'x') + '\n';

test('lines go out at once, in order', () => {
  const { fd, read } = openPipe();
  const output = openOutput({ fd });
  for (let index = 0; index < 3; index++) output.write(`${index}\n`);
  expect(read()).toBe('0\n1\n2\n');
});

verifies(
  'operations.log-unread',
  'what is more than the bound is left out and counted, and the rest comes whole',
  async () => {
    const { fd, read } = openPipe();
    const caughtUp: number[] = [];
    const output = openOutput({ fd, maxWaiting: 200_000, onCaughtUp: (lines) => void caughtUp.push(lines) });
    const before = droppedLines();
    for (let index = 0; index < 1_000; index++) {
      output.write(line(index));
      if (index % 10 === 0) await turn();
    }
    const dropped = droppedLines() - before;
    // The bound, and what the pipe itself holds.
    expect(dropped).toBeGreaterThanOrEqual(1_000 - 200 - 66);
    let text = '';
    await expect.poll(() => ((text += read()), caughtUp.length), { timeout: 20_000, interval: 5 }).toBe(1);
    text += read();
    expect(caughtUp).toEqual([dropped]);
    expect(text.split('\n').filter((each) => each.length !== 999)).toHaveLength(1);
    expect(text.length).toBe((1_000 - dropped) * 1_000);
  },
);

verifies('operations.log-unread', 'the end of a process does not wait for a reader that takes nothing', () => {
  const { fd, read } = openPipe();
  const output = openOutput({ fd });
  for (let index = 0; index < 500; index++) output.write(line(index));
  output.flush();
  expect(read().length).toBeLessThanOrEqual(65_536);
});

verifies('operations.log-unread', 'a flush writes all that is held', () => {
  const { fd, read } = openPipe();
  const output = openOutput({ fd });
  for (let index = 0; index < 60; index++) output.write(line(index));
  output.flush();
  expect(read().length).toBe(60_000);
});

verifies('operations.log-unread', 'a reader that has gone is not waited for', async () => {
  const { fd, leave } = openPipe();
  const output = openOutput({ fd });
  leave();
  output.write('a\n');
  await turn();
  output.write('b\n');
  output.flush();
});

verifies('operations.log-unread', 'nor one that has gone while much waited for it', () => {
  const { fd, leave } = openPipe();
  const output = openOutput({ fd });
  for (let index = 0; index < 500; index++) output.write(line(index));
  leave();
  output.flush();
});
