import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { LogFields } from '#libs/logging/logger.js';
import { silentLogger } from '#libs/logging/logger.js';
import { isAlive } from '#libs/process/process-identity.js';
import { verifies } from '../../../../test/verifies.js';
import { reapOrphans } from './orphans.js';
import { ProcessTree, send } from './process-tree.js';
import { giveMarkBack, isOrphanMark, isOurMark, isOwnMark, markOption, takeMark, treeVariable } from './tree-mark.js';

const waits = "process.stdout.write('up');setInterval(()=>{},1000)";

/** Marked in its environment only, with a child of its own that cleared it; or by a limit only, like that child. */
async function start(mark: string, by: 'environment' | 'limit') {
  const program = `const c=require('child_process').spawn(process.execPath,['-e',${JSON.stringify(waits)}],{env:{},detached:true});
    c.stdout.once('data',()=>process.stdout.write(c.pid+'\\n'));`;
  const node = [process.execPath, '-e', program];
  const [file, ...args] = by === 'limit' ? ['prlimit', markOption(mark), ...node] : node;
  const child = spawn(file!, args, {
    // Longer than what is read of it at once.
    env: { PATH: process.env['PATH'], LONG: 'x'.repeat(9_000), ...(by === 'limit' ? {} : { [treeVariable]: mark }) },
  });
  const [grandchild] = (await once(child.stdout, 'data')) as [Buffer];
  return [child.pid!, Number(grandchild)];
}

verifies('tools.nothing-left-alive', 'what a killed worker left, and only that', async () => {
  const own = takeMark();
  // A process id that is ours, started at a time that is not: the worker that had it is gone.
  const orphaned = String(BigInt(own) ^ (1n << 20n));
  const strange = '4611686018427387904';
  const [hidden, orphan, ...others] = await Promise.all([
    start(orphaned, 'limit'),
    start(orphaned, 'environment'),
    start(own, 'limit'),
    start(own, 'environment'),
    start(strange, 'limit'),
    start('12', 'limit'),
  ]);
  const logged: LogFields[] = [];
  try {
    const reaped = await reapOrphans({ ...silentLogger, warn: (fields) => void logged.push(fields) });
    expect(reaped).toBeGreaterThanOrEqual(4);
    expect(logged[0]?.metadata).toEqual({ processes: reaped });
    expect([...hidden, ...orphan].map(isAlive)).toEqual([false, false, false, false]);
    expect(others.flat().map(isAlive)).toEqual(others.flat().map(() => true));
  } finally {
    for (const each of [...hidden, ...orphan, ...others.flat()]) send(each, 'SIGKILL');
    giveMarkBack(own);
  }
});

test('no two trees at a time have one mark', () => {
  const kept = takeMark();
  const marks = Array.from({ length: 40_000 }, () => {
    const mark = takeMark();
    giveMarkBack(mark);
    return mark;
  });
  expect(marks.every((mark) => isOurMark(mark) && isOwnMark(mark) && !isOrphanMark(mark))).toBe(true);
  expect(marks).not.toContain(kept);
  giveMarkBack(kept);
  expect(new Set(marks).size).toBeGreaterThan(30_000);
});

test('a program that cannot be started says so', async () => {
  const limits = { prefix: [], carryMark: false };
  const launch = { file: '/nowhere/program', args: [], cwd: '/', environment: {}, limits };
  await expect(ProcessTree.start(launch, { stdinMs: 1, termMs: 1 })).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('ENOENT'),
  });
});
