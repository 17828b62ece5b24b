import { mkdirSync, openSync, closeSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { createTestWorkspace, testLimits, type TestWorkspace } from '../../test/support/test-workspace.js';
import { verifies } from '../../test/verifies.js';
import { tarStream } from './tar-stream.js';

/** `npm run bench -- --workspaces 1000000` does the same with more. */
const count = 3_000;
let made: TestWorkspace;

beforeEach(async () => {
  made = await createTestWorkspace();
  mkdirSync(join(made.host, 'many'));
  for (let index = 0; index < count; index += 1) closeSync(openSync(join(made.host, 'many', String(index)), 'w'));
});
afterEach(() => made.remove());

verifies('tools.workspace-many-files', 'listed and counted up to a bound, archived and removed whole', async () => {
  const { workspace, workspaces } = made;
  const { entries, truncated } = await workspace.list('.', { recursive: true, limit: 1_000 });
  expect([entries.length, truncated]).toEqual([1_000, true]);
  // More than is allowed is known long before the last one is counted.
  const { files } = await workspace.usage({ force: true });
  expect(files).toBeLessThanOrEqual(testLimits.maxFiles * 2);
  const directory = await workspace.openDirectory('.');
  let bytes = 0;
  for await (const chunk of tarStream(directory, { maxDepth: testLimits.maxDepth })) bytes += chunk.length;
  await directory.close();
  expect(bytes).toBe((count + 1 + 2) * 512);
  expect(await workspaces.remove('dir-a')).toBe(true);
  expect(readdirSync(made.root)).toEqual([]);
});

verifies('tools.workspace-many-files', 'what is not removed in time goes with the next sweep', async () => {
  const { workspaces } = made;
  expect(await workspaces.remove('dir-a', { budgetMs: 0 })).toBe(false);
  const [left] = readdirSync(made.root) as [string];
  expect(left).toMatch(/^\.removing-/);
  expect(readdirSync(join(made.root, left, 'many'))).not.toEqual([]);
  expect(await workspaces.finishRemovals(() => expect.unreachable())).toBe(1);
  expect(readdirSync(made.root)).toEqual([]);
});
