import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openDatabase, type Database } from '#libs/database/open-database.js';
import { silentLogger, type LogFields, type Logger } from '#libs/logging/logger.js';
import { PostgresSessionStore } from '#libs/runs/postgres-session-store.js';
import { createMigratedDatabase, type TestDatabase } from '#libs/testing/test-database.js';
import { createTestWorkspace, type TestWorkspace } from '#libs/testing/test-workspace.js';
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

function sweeperOf(orphanGraceMs: number): Sweeper {
  const logger: Logger = { ...silentLogger, info: (...line) => void lines.push(line), child: () => logger };
  return new Sweeper({ sessions, workspaces: made.workspaces, logger, intervalMs: 10, orphanGraceMs });
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
