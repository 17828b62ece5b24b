import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { WorkspaceMeter } from './workspace-meter.js';

let root: string;
let workspaces: Workspaces;
let meter: WorkspaceMeter;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'meter-'));
  workspaces = await Workspaces.open(root, { maxBytes: 2 ** 20, maxFiles: 100, maxDepth: 8 });
});
afterEach(async () => {
  await meter.close();
  await rm(root, { recursive: true, force: true });
});

const put = async (session: string, name: string, bytes: number) => {
  await mkdir(join(root, session), { recursive: true });
  await writeFile(join(root, session, name), Buffer.alloc(bytes));
};

test('the sum of all workspaces, anew with every round', async () => {
  meter = new WorkspaceMeter({ workspaces, logger: silentLogger });
  expect(() => meter.bytes).toThrow('not been counted');
  await meter.count();
  expect(meter.bytes).toBe(0);
  await put('one', 'a', 1_000);
  await put('two', 'b', 20_000);
  // A directory that is being removed.
  await put('.removing-x', 'c', 5_000);
  await meter.count();
  expect(meter.bytes).toBe(21_000);
  await rm(join(root, 'two'), { recursive: true });
  await meter.count();
  expect(meter.bytes).toBe(1_000);
});

test('a workspace that cannot be read costs only itself', async () => {
  meter = new WorkspaceMeter({ workspaces, logger: silentLogger });
  await put('one', 'a', 10);
  await writeFile(join(root, 'notADirectory'), 'x');
  await chmod(join(root, 'notADirectory'), 0);
  await meter.count();
  expect(meter.bytes).toBe(10);
});
