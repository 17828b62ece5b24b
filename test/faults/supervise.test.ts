// The supervisor of `npm start` with real processes: restarts, giving up, shutdown order, and nothing left behind.
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';
import { killAll, pressControlC, root, run, untilNoneWith, type Program } from './processes.js';

const fixture = join(root, 'test/faults/fixtures/supervise.mjs');
/** Passed on, but never connected to: the stand-in services need no database. */
const givenPatterns = 'postgres://given.invalid/database';

const stoppedInOrder = ['gateway stopping: SIGTERM', 'gateway stopped', 'worker stopping: SIGTERM', 'worker stopped'];

let directory: string;
let programs: Program[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signalbox-start-'));
  programs = [];
});

afterEach(async () => {
  await killAll(programs);
  expect(await untilNoneWith(directory)).toEqual([]);
  await rm(directory, { recursive: true, force: true });
});

interface Arranged {
  behaviours?: Record<string, string>;
  databaseUrl?: string;
  underNpm?: boolean;
}

function supervise({ behaviours = { gateway: 'good', worker: 'good' }, ...more }: Arranged, prefix?: string): Program {
  const argument = JSON.stringify({ directory, behaviours, ...more });
  const program =
    prefix === undefined
      ? run([process.execPath, fixture, argument])
      : run(['/bin/sh', '-c', prefix, process.execPath, fixture, argument]);
  programs.push(program);
  return program;
}

const events = async () => (await readFile(join(directory, 'events'), 'utf8')).trim().split('\n');
const pidOf = async (name: string) =>
  Number((await events()).findLast((line) => line.startsWith(`${name} started`))!.split(' ')[2]);

verifies('operations.start-stops-in-order', 'SIGTERM with a database of its own', async () => {
  const program = supervise({});
  await program.line(/^ready$/);
  program.process.kill('SIGTERM');
  expect(await program.ended).toBe(0);
  const happened = (await events()).map((line) => line.replace(/ started.*/, ' started'));
  expect(happened.slice(-4)).toEqual(stoppedInOrder);
  expect(program.lines).toContain('stopped');
  expect(await untilNoneWith(directory, 0)).toEqual([]);
});

verifies('operations.start-second-signal', 'a service that does not listen', async () => {
  const program = supervise({ behaviours: { gateway: 'deaf', worker: 'good' }, databaseUrl: givenPatterns });
  await program.line(/^ready$/);
  const startedAt = performance.now();
  program.process.kill('SIGINT');
  await program.line(/info: waiting up to 10 s for the gateway .*Ctrl-C again/);
  program.process.kill('SIGINT');
  expect(await program.ended).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(withinMs(5_000));
  expect(await untilNoneWith(directory, 0)).toEqual([]);
});

verifies(
  'operations.start-one-key-press',
  'the terminal tells all, npm tells us again, and all stops in order',
  async () => {
    const program = supervise({ databaseUrl: givenPatterns });
    await program.line(/^ready$/);
    pressControlC(program);
    setTimeout(() => program.process.kill('SIGINT'), 50);
    expect(await program.ended).toBe(0);
    expect((await events()).slice(-4)).toEqual(stoppedInOrder);
  },
);

verifies('operations.start-reloads', 'SIGHUP reaches every service, and ends none', async () => {
  const program = supervise({ databaseUrl: givenPatterns });
  await program.line(/^ready$/);
  program.process.kill('SIGHUP');
  await Promise.all([countOf('gateway reloads', 1), countOf('worker reloads', 1)]);
  program.process.kill('SIGTERM');
  expect(await program.ended).toBe(0);
});

verifies('operations.start-reloads', 'the end of its terminal is a stop', async () => {
  const program = supervise({ databaseUrl: givenPatterns }, `exec script -qec "'$0' '$1' '$2'" /dev/null`);
  await program.line(/^ready/);
  program.process.kill('SIGKILL');
  await countOf('worker stopped', 1);
  expect((await events()).slice(-4)).toEqual(stoppedInOrder);
});

verifies('operations.start-restarts', 'a worker that was killed', async () => {
  const program = supervise({ databaseUrl: givenPatterns });
  await program.line(/^ready$/);
  const first = await pidOf('worker');
  const again = countOf('worker started', 2);
  process.kill(first, 'SIGKILL');
  await program.line(/warn: worker was ended by SIGKILL; starting it again in 20 ms/);
  await again;
  expect(await pidOf('worker')).not.toBe(first);
});

verifies('operations.start-restarts', 'a database that was killed keeps its address', async () => {
  const program = supervise({});
  await program.line(/^ready$/);
  const address = (await events())[0]!.split(' ')[3];
  const pid = Number.parseInt(readFileSync(join(directory, 'data/postgres/cluster/postmaster.pid'), 'utf8'), 10);
  process.kill(pid, 'SIGKILL');
  await program.line(/warn: postgres ended by itself/);
  const worker = await pidOf('worker');
  const again = countOf('worker started', 2);
  process.kill(worker, 'SIGKILL');
  await again;
  expect((await events()).at(-1)!.split(' ')[3]).toBe(address);
});

verifies('operations.start-gives-up', 'a worker that ends five times in a row', async () => {
  const program = supervise({ behaviours: { gateway: 'good', worker: 'crash' }, databaseUrl: givenPatterns });
  expect(await program.ended).toBe(1);
  expect(program.lines.at(-1)).toMatch(/gave up: worker ended 5 times in a row.*exited with status 3/);
  expect((await events()).filter((line) => line.startsWith('worker started'))).toHaveLength(5);
  expect(await untilNoneWith(directory, 0)).toEqual([]);
});

verifies('operations.start-leaves-nothing', 'kill -9 of the supervisor', async () => {
  const program = supervise({});
  await program.line(/^ready$/);
  program.process.kill('SIGKILL');
  expect(await untilNoneWith(directory)).toEqual([]);
  expect(await events()).toContain('gateway stopping: the supervisor has ended');
});

verifies('operations.start-leaves-nothing', 'kill -9 of the npm above a shell above it', async () => {
  // Like npm: a process that starts a shell, which starts the supervisor and outlives npm.
  const npm = supervise({ underNpm: true }, `/bin/sh -c '"$0" "$@"; exit $?' "$0" "$@"; exit $?`);
  await npm.line(/^ready$/);
  npm.process.kill('SIGKILL');
  expect(await untilNoneWith(directory)).toEqual([]);
  expect((await events()).at(-1)).toBe('worker stopped');
});

test('a stop while it starts leaves nothing', async () => {
  const program = supervise({});
  await program.line(/^migrated/);
  program.process.kill('SIGTERM');
  expect(await program.ended).toBe(0);
  expect(await untilNoneWith(directory, 0)).toEqual([]);
});

/** Polls a file that the services write, because file events are not reliable everywhere. */
async function countOf(start: string, count: number): Promise<void> {
  await expect
    .poll(async () => (await events()).filter((line) => line.startsWith(start)).length, { timeout: 20_000 })
    .toBe(count);
}
