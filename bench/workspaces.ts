// `npm run bench -- --workspaces 1000000`: a workspace of so many empty files, and how far a fast writer gets beyond its
// quota before it is ended. In a temporary directory (TMPDIR), without a gateway or worker.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { silentLogger } from '#libs/logging/logger.js';
import { tarStream } from '#libs/workspace/tar-stream.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { type ProcessTree, watchQuota } from '../apps/worker/workspace/quota-watch.js';

const megabyte = 1024 * 1024;
const limits = { maxBytes: 512 * megabyte, maxFiles: 10_000, maxDepth: 32 };
const rounds = 5;

export async function measureWorkspaces(files: number): Promise<boolean> {
  const root = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  try {
    const workspaces = await Workspaces.open(root, limits);
    await manyFiles(workspaces, files);
    const over: number[] = [];
    for (let round = 0; round < rounds; round += 1) over.push(await overshoot(workspaces));
    console.log(`beyond a quota of 512 MiB: ${over.map((bytes) => `${Math.round(bytes / megabyte)} MiB`).join(', ')}`);
    return true;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function manyFiles(workspaces: Workspaces, files: number): Promise<void> {
  const workspace = workspaces.workspace({ id: 'many', directory: 'many' });
  await workspace.ensure();
  const host = join(workspaces.hostPath('many'), 'many');
  mkdirSync(host);
  for (let index = 0; index < files; index += 1) closeSync(openSync(join(host, String(index)), 'w'));
  await step('list', () => workspace.list('.', { recursive: true, limit: 10_000 }));
  await step('count', () => workspace.usage({ force: true }));
  await step('archive', async () => {
    const directory = await workspace.openDirectory('.');
    let bytes = 0;
    for await (const chunk of tarStream(directory, limits)) bytes += chunk.length;
    await directory.close();
    if (bytes !== (files + 3) * 512) throw new Error('the archive is not whole');
  });
  let sweeps = 1;
  await step('removal', async () => {
    const options = { budgetMs: 30_000 };
    const failed = (error: unknown) => {
      throw error;
    };
    if (await workspaces.remove('many', options)) return;
    for (let finished = 0; finished === 0; sweeps += 1) finished = await workspaces.finishRemovals(failed, options);
  });
  console.log(`${files} files; removed in ${sweeps} sweeps`);
}

async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  const held = monitorEventLoopDelay({ resolution: 5 });
  const before = process.memoryUsage().rss;
  let highest = before;
  const looking = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 20);
  held.enable();
  const startedAt = performance.now();
  await work();
  held.disable();
  clearInterval(looking);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const more = ((highest - before) / megabyte).toFixed(0);
  console.log(`${name}: ${seconds} s, ${more} MB more, event loop held for ${(held.max / 1e6).toFixed(0)} ms at most`);
}

/** Returns how much more than the quota was there in the end. */
async function overshoot(workspaces: Workspaces): Promise<number> {
  const workspace = workspaces.workspace({ id: 'full', directory: 'full' });
  await workspace.ensure();
  const writer = spawn('dd', ['if=/dev/zero', 'of=large', 'bs=1M'], {
    cwd: workspaces.hostPath('full'),
    stdio: 'ignore',
  });
  const ended = await watchQuota(
    {
      tree: treeOf(writer),
      count: (signal) => workspaces.measure('full', signal),
      before: { bytes: 0, files: 0, directories: 0 },
      limits,
      space: workspaces.space,
      logger: silentLogger,
    },
    new AbortController().signal,
  );
  if (ended?.code !== 'workspace_quota_exceeded') throw new Error('the writer was not ended for its quota');
  const { bytes } = await workspaces.measure('full');
  await workspaces.remove('full');
  return bytes - limits.maxBytes;
}

function treeOf(writer: ChildProcess): ProcessTree {
  return {
    async stop() {
      writer.kill('SIGSTOP');
      while (!/^State:\s+T/m.test(readFileSync(`/proc/${writer.pid}/status`, 'utf8'))) await delay(1);
    },
    resume: async () => void writer.kill('SIGCONT'),
    async end() {
      const closed = once(writer, 'close');
      writer.kill('SIGKILL');
      await closed;
    },
  };
}
