import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { LogFields } from '#libs/logging/logger.js';
import { silentLogger } from '#libs/logging/logger.js';
import { isAlive } from '#libs/process/process-identity.js';
import { verifies } from '../../../../test/verifies.js';
import { reapOrphans } from './orphans.js';
import { markOf, treeVariable } from './process-table.js';
import { ProcessTree } from './process-tree.js';

const waits = "process.stdout.write('up');setInterval(()=>{},1000)";

verifies('tools.nothing-left-alive', 'what a killed worker left, and only that', async () => {
  const own = await markOf('own');
  // A process id that is ours, started at a time that is not: the worker that had it is gone.
  const [id, pid, , namespace] = own.split('.');
  const marks = { orphan: [id, pid, '1', namespace].join('.'), own, elsewhere: [id, '1', '1', '99'].join('.') };
  const start = async (mark: string) => {
    // With a child of its own that cleared its environment.
    const program = `const c=require('child_process').spawn(process.execPath,['-e',${JSON.stringify(waits)}],{env:{},detached:true});
      c.stdout.once('data',()=>process.stdout.write(c.pid+'\\n'));`;
    const child = spawn(process.execPath, ['-e', program], { env: { [treeVariable]: mark } });
    const [grandchild] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, pids: [child.pid!, Number(grandchild)] };
  };
  const [orphan, ours, foreign] = await Promise.all(Object.values(marks).map(start));
  const logged: LogFields[] = [];
  try {
    const reaped = await reapOrphans({ ...silentLogger, warn: (fields) => void logged.push(fields) });
    expect(reaped).toBeGreaterThanOrEqual(2);
    expect(logged[0]?.metadata).toEqual({ processes: reaped });
    expect(orphan!.pids.map(isAlive)).toEqual([false, false]);
    expect([...ours!.pids, ...foreign!.pids].map(isAlive)).toEqual([true, true, true, true]);
  } finally {
    for (const each of [...ours!.pids, ...foreign!.pids]) process.kill(each, 'SIGKILL');
  }
});

test('a program that cannot be started says so', async () => {
  const launch = { file: '/nowhere/program', args: [], cwd: '/', environment: {} };
  await expect(ProcessTree.start(launch, { stdinMs: 1, termMs: 1 })).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('ENOENT'),
  });
});
