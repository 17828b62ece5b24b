import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import type { KnownTool, PublishedTool, ToolWrite } from './catalog-store.js';
import { PostgresCatalogStore } from './postgres-catalog-store.js';
import { PostgresToolChanges } from './postgres-tool-changes.js';

let owned: TestDatabase;
let database: Database;
let catalog: PostgresCatalogStore;
let changes: PostgresToolChanges;

beforeAll(async () => {
  owned = await createMigratedDatabase();
  database = openDatabase({ url: owned.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
  catalog = new PostgresCatalogStore(database);
  changes = new PostgresToolChanges(database);
});
afterAll(async () => {
  await database?.close();
  await owned?.drop();
});

const hash = (letter: string) => letter.repeat(64);
const definition = (description: string): JsonObject => ({
  name: 'x',
  description,
  outputSchema: { title: description },
});
const tool = (server: string, name: string, definitionHash: string): PublishedTool => ({
  server,
  tool: name,
  description: 'reads \u0000 \ud800',
  inputSchema: { type: 'object', properties: { z: {}, a: {} } },
  annotations: { readOnlyHint: true },
  definitionHash,
  safe: true,
  readOnly: true,
  timeoutMs: 1,
  maxTimeoutMs: 2,
});
const offered = (server: string, name: string, letter: string) => ({
  tool: tool(server, name, hash(letter)),
  hash: hash(letter),
});
const approved = (server: string, name: string, position = 0): ToolWrite => ({
  tool: name,
  position,
  listed: true,
  approved: { definition: definition('first'), hash: hash('a') },
  published: offered(server, name, 'a'),
  held: null,
});

/** A server with tools that each have a waiting change. */
async function heldServer(server: string, ...names: string[]): Promise<void> {
  await catalog.place(server, 0);
  await catalog.write(
    server,
    names.map((name) => approved(server, name)),
  );
  await catalog.settle(server, true);
  const writes = (await catalog.known(server)).map((before): ToolWrite => {
    const { approved: _approved, ...same } = approved(server, before.tool);
    return {
      ...same,
      before,
      held: {
        grade: 'wording',
        decision: 'pending',
        hash: hash('b'),
        definition: definition('second'),
        published: offered(server, before.tool, 'b'),
      },
      seen: { grade: 'wording', outcome: 'held', hash: hash('b'), was: hash('a') },
    };
  });
  expect(await catalog.write(server, writes)).toBe(names.length);
}

const by = { principal: 'ann', requestId: 'req_1' };
const auditOf = async (server: string) =>
  (await database.prisma.auditEvent.findMany({ where: { server }, orderBy: { id: 'asc' } })).map(
    ({ kind, state, approver, definitionHash }) => ({ kind, state, approver, definitionHash }),
  );
const hashesOf = async (server: string) => (await catalog.published(server)).map((each) => each.definitionHash);

test('the catalog: published in order, marked, retained, and back with what was approved', async () => {
  expect(await catalog.servers()).toEqual([]);
  expect(await catalog.place('files', 1)).toEqual({ firstListing: true });
  await catalog.write('files', [approved('files', 'write', 1), approved('files', 'read', 0)]);
  expect(await catalog.servers()).toEqual([]);
  await catalog.settle('files', true);
  expect(await catalog.place('files', 1)).toEqual({ firstListing: false });
  await catalog.place('first', 0);
  await catalog.settle('first', false);
  await catalog.markUnavailable('files');
  expect(await catalog.servers()).toEqual([
    { server: 'first', order: 0, available: true, revision: '0' },
    { server: 'files', order: 1, available: false, revision: '1' },
  ]);
  expect(await catalog.published('files')).toEqual([
    tool('files', 'read', hash('a')),
    tool('files', 'write', hash('a')),
  ]);
  await catalog.retain(['first']);
  expect((await catalog.servers()).map(({ server }) => server)).toEqual(['first']);
  await catalog.retain(['files', 'refused', 'first']);
  expect((await catalog.servers()).map(({ server, order }) => [server, order])).toEqual([
    ['files', 0],
    ['first', 2],
  ]);
  expect(await catalog.published('files')).toHaveLength(2);
});

test('what another has changed since it was read is left as it is', async () => {
  await catalog.place('raced', 0);
  expect(await catalog.write('raced', [approved('raced', 'read')])).toBe(1);
  expect(await catalog.write('raced', [approved('raced', 'read')])).toBe(0);
  const [known] = await catalog.known('raced');
  const moved = (before: KnownTool): ToolWrite => ({
    ...approved('raced', 'read'),
    before,
    approved: { definition: definition('second'), hash: hash('b') },
  });
  expect(await catalog.write('raced', [moved(known!)])).toBe(1);
  expect(await catalog.write('raced', [moved(known!)])).toBe(0);
});

test('many tools are written and read in pieces', async () => {
  await catalog.place('many', 0);
  const writes = Array.from({ length: 2_300 }, (_, at) => approved('many', `tool-${at}`, at));
  expect(await catalog.write('many', writes)).toBe(2_300);
  expect((await catalog.published('many')).map((each) => each.tool)).toEqual(writes.map((each) => each.tool));
  expect(await catalog.known('many')).toHaveLength(2_300);
  expect(
    (
      await catalog.definitions(
        'many',
        writes.map((each) => each.tool),
      )
    ).size,
  ).toBe(2_300);
});

test('the output schema is that of the approved definition', async () => {
  await heldServer('promising', 'read');
  expect(await catalog.outputSchema('promising', hash('a'))).toEqual({ title: 'first' });
  expect(await catalog.outputSchema('promising', hash('b'))).toBeUndefined();
  await changes.decide('accept', [{ kind: 'tool' as const, server: 'promising', tool: 'read', hash: hash('b') }], by);
  expect(await catalog.outputSchema('promising', hash('b'))).toEqual({ title: 'second' });
});

verifies('tools.changes-decided', 'accepted once, audited once, offered from then on', async () => {
  await heldServer('accepting', 'read');
  const before = (await catalog.servers()).find(({ server }) => server === 'accepting')!.revision;
  const change = { kind: 'tool' as const, server: 'accepting', tool: 'read', hash: hash('b') };
  expect(await changes.decide('accept', [change], by)).toEqual({
    decided: [{ kind: 'tool' as const, server: 'accepting', tool: 'read', grade: 'wording' }],
  });
  expect(await changes.decide('accept', [change], by)).toEqual({ decided: [] });
  expect(await hashesOf('accepting')).toEqual([hash('b')]);
  const after = (await catalog.servers()).find(({ server }) => server === 'accepting')!.revision;
  expect(after).not.toBe(before);
  expect(await auditOf('accepting')).toEqual([
    { kind: 'definition_change', state: 'held', approver: null, definitionHash: hash('b') },
    { kind: 'definition_change', state: 'accepted', approver: 'ann', definitionHash: hash('b') },
  ]);
  expect(await changes.decide('reject', [change], by)).toEqual({ decided: [], missing: 0 });
});

verifies('tools.changes-decided', 'rejected, and accepted after all', async () => {
  await heldServer('rejecting', 'read');
  const pending = await changes.countPending();
  const change = { kind: 'tool' as const, server: 'rejecting', tool: 'read', hash: hash('b') };
  expect((await changes.decide('reject', [change], by)).decided).toHaveLength(1);
  expect(await changes.decide('reject', [change], by)).toEqual({ decided: [] });
  expect(await changes.countPending()).toBe(pending - 1);
  expect(await hashesOf('rejecting')).toEqual([hash('a')]);
  const page = await changes.list({ limit: 1, after: { kind: 'tool' as const, server: 'rejecting', tool: 'a' } });
  expect(page).toMatchObject([
    {
      server: 'rejecting',
      tool: 'read',
      decision: 'rejected',
      approved: { definition: definition('first') },
      held: { hash: hash('b'), definition: definition('second') },
    },
  ]);
  expect((await changes.decide('accept', [change], by)).decided).toHaveLength(1);
  expect(await hashesOf('rejecting')).toEqual([hash('b')]);
});

verifies('tools.changes-decided', 'all or none, and only what was looked at', async () => {
  await heldServer('several', 'one', 'two');
  const one = { kind: 'tool' as const, server: 'several', tool: 'one', hash: hash('b') };
  for (const wrong of [
    { kind: 'tool' as const, server: 'several', tool: 'two', hash: hash('c') },
    { kind: 'tool' as const, server: 'several', tool: 'two', hash: null },
    { kind: 'tool' as const, server: 'several', tool: 'three', hash: hash('b') },
    { kind: 'tool' as const, server: 'nobody', tool: 'two', hash: hash('b') },
  ]) {
    expect(await changes.decide('accept', [one, wrong], by)).toEqual({ decided: [], missing: 1 });
  }
  expect(await hashesOf('several')).toEqual([hash('a'), hash('a')]);
  expect(await auditOf('several')).toHaveLength(2);
});

verifies('tools.changes-decided', 'a removal', async () => {
  await heldServer('losing', 'read');
  const [before] = await catalog.known('losing');
  const held = { grade: 'removed', decision: 'pending', hash: null, definition: null, published: null } as const;
  const { approved: _approved, ...same } = approved('losing', 'read');
  await catalog.write('losing', [{ ...same, before: before!, listed: false, held }]);
  expect(await hashesOf('losing')).toEqual([hash('a')]);
  const change = { kind: 'tool' as const, server: 'losing', tool: 'read', hash: null };
  expect((await changes.decide('accept', [change], by)).decided).toMatchObject([{ grade: 'removed' }]);
  expect(await changes.decide('accept', [change], by)).toEqual({ decided: [] });
  expect(await hashesOf('losing')).toEqual([]);
  expect(await catalog.known('losing')).toMatchObject([{ definitionHash: hash('a'), listed: false, held: null }]);
});
