import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { silentLogger, type LogFields, type Logger } from '#libs/logging/logger.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { someCall } from '../../../test/support/stored-rows.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { createTestWorkspace, type TestWorkspace } from '../../../test/support/test-workspace.js';
import { verifies } from '../../../test/verifies.js';
import { Sweeper } from './sweeper.js';

let testDatabase: TestDatabase;
let database: Database;
let sessions: PostgresSessionStore;
let made: TestWorkspace;
let lines: [LogFields, string][];
let sweeper: Sweeper;

beforeAll(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
  sessions = new PostgresSessionStore(database, { idleTtlMs: 60_000 });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  made = await createTestWorkspace();
  await made.workspaces.remove('dir-a');
  lines = [];
  sweeper = sweeperOf(0);
});
afterEach(async () => {
  await sweeper.close();
  made.remove();
});

function sweeperOf(orphanGraceMs: number, removalBudgetMs?: number): Sweeper {
  const logger: Logger = { ...silentLogger, info: (...line) => void lines.push(line), child: () => logger };
  return new Sweeper({
    sessions,
    workspaces: made.workspaces,
    logger,
    intervalMs: 10,
    orphanGraceMs,
    ...(removalBudgetMs === undefined ? {} : { removalBudgetMs }),
  });
}

async function session(id: string): Promise<string> {
  const { directory } = await sessions.ensure('local', id);
  await made.workspaces.workspace({ id, directory }).write('x', Buffer.from('x'));
  return directory;
}

const expire = (id: string) =>
  database.prisma.session.updateMany({ where: { id }, data: { expiresAt: new Date(Date.now() - 1_000) } });

verifies('tools.workspace-swept', 'expired sessions go, others stay, whatever their times say', async () => {
  const expired = await session('expired');
  const living = await session('living');
  utimesSync(join(made.root, expired), 253_402_300_799, 253_402_300_799);
  utimesSync(join(made.root, living), 0, 0);
  await expire('expired');
  await sweeperOf(60_000).sweep();
  expect(readdirSync(made.root)).toEqual([living]);
  expect(lines).toEqual([
    [
      { sessionId: 'expired', userId: 'local', metadata: { directory: expired } },
      'workspace of an expired session removed',
    ],
  ]);
  expect(await sessions.get('local', 'expired')).toBeUndefined();
});

verifies('tools.workspace-swept', 'directories without a session, only after a while', async () => {
  const living = await session('living');
  mkdirSync(join(made.root, 'orphan'));
  const patient = sweeperOf(60_000);
  await patient.sweep();
  await patient.sweep();
  expect(existsSync(join(made.root, 'orphan'))).toBe(true);
  await sweeper.sweep();
  expect(readdirSync(made.root)).toEqual([living]);
  expect(lines.map(([, message]) => message)).toEqual(['workspace without a session removed']);
});

verifies('tools.workspace-swept', 'removals that a killed process left', async () => {
  const living = await session('living');
  mkdirSync(join(made.root, '.removing-1/deep'), { recursive: true });
  writeFileSync(join(made.root, '.removing-1/deep/x'), 'x');
  await sweeper.sweep();
  expect(readdirSync(made.root)).toEqual([living]);
});

verifies('tools.workspace-swept', 'whatever tools made of it, and nothing beside it', async () => {
  const outside = join(made.base, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'kept'), 'kept');
  const hosts = await Promise.all(['zoo', 'link'].map(async (id) => join(made.root, await session(id))));
  const [zoo, link] = hosts as [string, string];
  renameSync(link, `${outside}/moved`);
  symlinkSync(outside, link);
  const script = `
    mkdir d && ( cd d && i=0; while [ $i -lt 500 ]; do mkdir d && cd d; : > f; i=$((i+1)); done )
    mkdir -p closed/inner && : > closed/inner/x && chmod 000 closed/inner closed
    : > ./-rf; : > "$(printf 'a\\nb')"; : > "$(printf 'odd\\377')"
    mkfifo pipe; ln ${outside}/kept hard; ln -s ${outside} directory; ln -s loop loop
    truncate -s 1T sparse; touch -d 9999-12-31 sparse`;
  execFileSync('sh', ['-ec', script], { cwd: zoo });
  const server = createServer().listen(join(zoo, 'socket'));
  await once(server, 'listening');
  try {
    for (const id of ['zoo', 'link']) await expire(id);
    await sweeper.sweep();
  } finally {
    server.close();
  }
  expect(readdirSync(made.root)).toEqual([]);
  expect(readdirSync(outside).sort()).toEqual(['kept', 'moved']);
  expect(statSync(join(outside, 'kept')).nlink).toBe(1);
  expect(lines.map(([, message]) => message)).toEqual(Array(2).fill('workspace of an expired session removed'));
});

verifies(
  'tools.workspace-swept',
  'one that keeps being filled holds up no other, and goes when that ends',
  async () => {
    const script = `
    const { openSync, closeSync, mkdirSync } = require('node:fs');
    for (let i = 0; ; i++) {
      try { mkdirSync('d' + i); closeSync(openSync('d' + i + '/f', 'w')); } catch {}
      if (i === 100) process.send('ready');
    }`;
    const filled = await session('filled');
    const filler = spawn(process.execPath, ['-e', script], {
      cwd: join(made.root, filled),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const impatient = sweeperOf(0, 50);
    try {
      await once(filler, 'message');
      await session('other');
      for (const id of ['filled', 'other']) await expire(id);
      await impatient.sweep();
      expect(readdirSync(made.root)).toEqual([expect.stringMatching(/^\.removing-/)]);
      expect(lines.map(([{ sessionId }]) => String(sessionId)).toSorted()).toEqual(['filled', 'other']);
      expect(lines.find(([{ sessionId }]) => sessionId === 'filled')![0].metadata).toEqual({
        directory: filled,
        unfinished: true,
      });
    } finally {
      filler.kill('SIGKILL');
      await once(filler, 'exit');
    }
    await sweeper.sweep();
    expect(readdirSync(made.root)).toEqual([]);
  },
);

verifies('sessions.not-taken-in-use', 'calls begin while their sessions expire', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => `racing-${index}`);
  for (const id of ids) await session(id);
  const journal = new PostgresJournal(database);
  const others = Array.from({ length: 3 }, () => new PostgresSessionStore(database, { idleTtlMs: 60_000 }));
  for (const id of ids) await expire(id);
  let begun = 0;
  const sweeping = (async () => {
    while (begun < ids.length) await sweeper.sweep();
  })();
  for (const [index, id] of ids.entries()) {
    // Like a worker: a planned call opens its session and writes.
    await journal.plan(someCall({ principal: 'local', sessionId: id }), { requestId: 'req-1' });
    const { directory } = await others[index % others.length]!.ensure('local', id);
    await made.workspaces.workspace({ id, directory }).write('result', Buffer.from('x'));
    begun += 1;
  }
  await sweeping;
  for (const id of ids) {
    const { directory } = (await sessions.get('local', id))!;
    expect(readdirSync(join(made.root, directory))).toContain('result');
  }
});

test('one round at a time, by itself, and none after the close', async () => {
  const first = sweeper.sweep();
  expect(sweeper.sweep()).toBe(first);
  await first;
  sweeper.start();
  mkdirSync(join(made.root, 'orphan'));
  await expect.poll(() => existsSync(join(made.root, 'orphan'))).toBe(false);
  await sweeper.close();
  mkdirSync(join(made.root, 'late'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(existsSync(join(made.root, 'late'))).toBe(true);
});
