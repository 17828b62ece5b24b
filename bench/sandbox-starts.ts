// `npm run bench -- --starts`: what each level of isolation adds to the start of a tool server, and to a call of it, side by
// side in one run, without a gateway or worker.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '#libs/logging/logger.js';
import { makeOwnDirectory, makeParentDirectory } from '#libs/workspace/own-directory.js';
import { Isolation } from '../apps/worker/sandbox/isolation.js';
import type { IsolationLevel } from '../apps/worker/sandbox/levels.js';
import { readablePaths } from '../apps/worker/sandbox/readable-paths.js';

const starts = 20;
const echoes = 2_000;
const grace = { stdinMs: 500, termMs: 500 };

/** Answers each line as soon as it comes. */
const server = `process.stdin.on('data', (data) => process.stdout.write(data)); process.stdout.write('up');`;

export async function measureStarts(): Promise<boolean> {
  const root = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  try {
    await makeParentDirectory(root);
    const path = process.env['PATH'] ?? '';
    const isolation = await Isolation.find({
      path,
      maxFileBytes: 2 ** 29,
      allowUnsandboxed: true,
      logger: silentLogger,
    });
    const levels = (['none', 'process', 'confined', 'namespace'] as const).filter(
      (level) => isolation.refusal(level) === undefined,
    );
    const took = new Map<IsolationLevel, { start: number[]; call: number[] }>(
      levels.map((level) => [level, { start: [], call: [] }]),
    );
    // One after the other, level by level in turn: what else the machine does meets all of them.
    for (let round = 0; round < starts; round += 1) {
      for (const level of levels) {
        const directory = join(root, `${level}-${round}`);
        mkdirSync(directory);
        await makeOwnDirectory(directory);
        const { start, call } = await startOne(isolation, level, directory);
        took.get(level)!.start.push(start);
        took.get(level)!.call.push(call);
      }
    }
    const plain = took.get('none')!;
    for (const [level, { start, call }] of took) {
      const added = median(start) - median(plain.start);
      console.log(
        `${level.padEnd(9)} start ${median(start).toFixed(1)} ms (+${added.toFixed(1)}), ` +
          `a line and its echo ${(median(call) * 1_000).toFixed(1)} µs`,
      );
    }
    return true;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function startOne(isolation: Isolation, level: IsolationLevel, directory: string) {
  const { paths } = readablePaths([process.execPath], [], []);
  const began = performance.now();
  const tool = await isolation.start(level, {
    file: process.execPath,
    args: ['-e', server],
    directory,
    readable: paths,
    writable: [],
    network: 'none',
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: directory },
  });
  tool.stderr.resume();
  await once(tool.stdout, 'data');
  const start = performance.now() - began;
  const callsBegan = performance.now();
  for (let index = 0; index < echoes; index += 1) {
    tool.stdin.write('x\n');
    await once(tool.stdout, 'data');
  }
  const call = (performance.now() - callsBegan) / echoes;
  await tool.end(grace);
  return { start, call };
}

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[values.length >> 1]!;
