import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import type { AppError } from '#libs/schemas/errors.js';
import { createTestWorkspace, type TestWorkspace } from '../../../test/support/test-workspace.js';
import { FreeSpace } from '#libs/workspace/free-space.js';
import { verifies } from '../../../test/verifies.js';
import { type ProcessTree, type QuotaWatchOptions, watchQuota } from './quota-watch.js';

const megabyte = 1024 * 1024;
const limits = { maxBytes: 32 * megabyte, maxFiles: 200, maxDepth: 8 };
const nothing = { bytes: 0, files: 0, directories: 0 };

let made: TestWorkspace;
let child: ChildProcess | undefined;
let over: AbortController;

beforeEach(async () => {
  made = await createTestWorkspace(limits);
  over = new AbortController();
});
afterEach(async () => {
  over.abort();
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  made.remove();
});

async function start(script: string): Promise<ChildProcess> {
  const head = `const fs = require('node:fs'); const mb = Buffer.alloc(${megabyte}, 1); process.send('ready');`;
  child = spawn(process.execPath, ['-e', head + script], {
    cwd: made.host,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return child;
}

const stateOf = ({ pid }: ChildProcess) => /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];

/** A tree of one process. */
function treeOf(process: ChildProcess) {
  const done: string[] = [];
  const tree: ProcessTree = {
    async stop() {
      done.push('stop');
      process.kill('SIGSTOP');
      while (stateOf(process) !== 'T') await delay(1);
    },
    async resume() {
      done.push('resume');
      process.kill('SIGCONT');
    },
    async end({ code }: AppError) {
      done.push(`end ${code}`);
      const ended = once(process, 'exit');
      process.kill('SIGKILL');
      await ended;
    },
  };
  return { tree, done };
}

/** A disk to which nobody writes: what others write to a real one stops trees that are about to be full. */
const quiet = { bytes: async () => 2 ** 40, now: async () => 2 ** 40 };

const watch = (tree: ProcessTree, more: Partial<QuotaWatchOptions> = {}) =>
  watchQuota(
    {
      tree,
      count: (signal) => made.workspaces.measure('dir-a', signal),
      before: nothing,
      limits,
      space: { ...quiet, minFreeBytes: 0 },
      logger: silentLogger,
      ...more,
    },
    over.signal,
  );

verifies('tools.workspace-quota-watched', 'bytes: ended, and nothing is written afterwards', async () => {
  const writer = await start(`const f = fs.openSync('large', 'w'); for (;;) fs.writeSync(f, mb);`);
  const { tree, done } = treeOf(writer);
  const error = await watch(tree, { space: new FreeSpace(made.root, 0) });
  expect([error?.code, error?.message]).toEqual([
    'workspace_quota_exceeded',
    `The tool was stopped because it filled the workspace: at most ${limits.maxBytes} bytes. Delete files, then try again.`,
  ]);
  expect(done).toEqual(['stop', 'end workspace_quota_exceeded']);
  expect(writer.signalCode).toBe('SIGKILL');
});

verifies('tools.workspace-quota-watched', 'bytes: what the disk has lost tells it before the next count', async () => {
  const { tree, done } = treeOf(await start('setInterval(() => {}, 1000);'));
  let free = 2 ** 40;
  let counts = 0;
  const count: QuotaWatchOptions['count'] = async (signal) => {
    counts += 1;
    if (counts === 1) {
      truncateSync(join(made.host, 'large'), limits.maxBytes + 1);
      free -= 2 * limits.maxBytes;
      // As slow as a disk that is busy.
      await delay(20_000, undefined, { signal });
    }
    return made.workspaces.measure('dir-a', signal);
  };
  writeFileSync(join(made.host, 'large'), '');
  const space = { ...quiet, now: async () => free, minFreeBytes: 0 };
  const before = performance.now();
  expect((await watch(tree, { count, space }))?.code).toBe('workspace_quota_exceeded');
  expect(performance.now() - before).toBeLessThan(15_000);
  expect([counts, done]).toEqual([2, ['stop', 'end workspace_quota_exceeded']]);
});

verifies('tools.workspace-quota-watched', 'files, and depth', async () => {
  const files = await start(`for (let i = 0; ; i++) fs.closeSync(fs.openSync('f' + i, 'w'));`);
  expect((await watch(treeOf(files).tree))?.message).toContain('at most 200 files and directories');
  await made.workspaces.remove('dir-a');
  await made.workspace.ensure();
  const deep = await start(`fs.mkdirSync('d/'.repeat(50), { recursive: true }); setInterval(() => {}, 1000);`);
  expect((await watch(treeOf(deep).tree))?.message).toContain('more than 8 deep');
});

verifies('tools.workspace-quota-watched', 'what was deleted by the time it stands still goes on', async () => {
  writeFileSync(join(made.host, 'large'), '');
  truncateSync(join(made.host, 'large'), limits.maxBytes + 1);
  const idle = await start('setInterval(() => {}, 1000);');
  const { tree, done } = treeOf(idle);
  const stop = async () => {
    await tree.stop();
    truncateSync(join(made.host, 'large'), 0);
  };
  const resume = async () => {
    await tree.resume();
    over.abort();
  };
  expect(await watch({ ...tree, stop, resume })).toBeUndefined();
  expect(done).toEqual(['stop', 'resume']);
  await expect.poll(() => stateOf(idle)).not.toBe('T');
});

verifies('tools.workspace-quota-watched', 'the reserve of the disk: only what has grown is ended', async () => {
  await made.workspace.write('there', Buffer.alloc(1_000));
  const before = await made.workspaces.measure('dir-a');
  const space = { ...quiet, minFreeBytes: Number.MAX_SAFE_INTEGER };
  const idle = treeOf(
    await start(`process.on('message', () => fs.writeFileSync('more', mb)); setInterval(() => {}, 1000);`),
  );
  let counts = 0;
  const count: QuotaWatchOptions['count'] = (signal) => {
    counts += 1;
    if (counts === 3) child!.send('write');
    return made.workspaces.measure('dir-a', signal);
  };
  expect((await watch(idle.tree, { space, before, count }))?.code).toBe('workspace_disk_full');
  expect(counts).toBeGreaterThan(3);
  expect(idle.done).toEqual(['stop', 'end workspace_disk_full']);
});

verifies('tools.workspace-quota-watched', 'what was too much before may be deleted, not grow', async () => {
  const large = join(made.host, 'large');
  writeFileSync(large, '');
  truncateSync(large, limits.maxBytes * 2);
  const before = await made.workspaces.measure('dir-a');
  const { tree, done } = treeOf(await start('setInterval(() => {}, 1000);'));
  let counts = 0;
  const count: QuotaWatchOptions['count'] = (signal) => {
    counts += 1;
    if (counts === 3) truncateSync(large, limits.maxBytes * 1.5);
    if (counts === 5) truncateSync(large, limits.maxBytes * 2 + 1);
    return made.workspaces.measure('dir-a', signal);
  };
  expect((await watch(tree, { before, count }))?.code).toBe('workspace_quota_exceeded');
  expect([counts, done]).toEqual([6, ['stop', 'end workspace_quota_exceeded']]);
});

test('a watch that is over while the tree stands still lets it go on; one that cannot count says so once and goes on', async () => {
  writeFileSync(join(made.host, 'large'), '');
  truncateSync(join(made.host, 'large'), limits.maxBytes + 1);
  const { tree, done } = treeOf(await start('setInterval(() => {}, 1000);'));
  const stop = async () => {
    await tree.stop();
    over.abort();
  };
  expect(await watch({ ...tree, stop })).toBeUndefined();
  expect(done).toEqual(['stop', 'resume']);
  over = new AbortController();
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warned.push(message) };
  let counts = 0;
  const count: QuotaWatchOptions['count'] = async (signal) => {
    counts += 1;
    if (counts < 3) throw new Error('no disk');
    return made.workspaces.measure('dir-a', signal);
  };
  expect((await watch(tree, { count, logger }))?.code).toBe('workspace_quota_exceeded');
  expect(warned).toEqual(['a workspace could not be watched']);
  expect(statSync(join(made.host, 'large')).size).toBe(limits.maxBytes + 1);
});
