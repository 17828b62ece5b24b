import { expect, test } from 'vitest';
import type { KnownTool } from '#libs/runs/catalog/catalog-store.js';
import { configuredServer } from '../../../../test/support/configured-server.js';
import { verifies } from '../../../../test/verifies.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import { planPublication } from './plan-publication.js';
import { toolsOf } from './published-tool.js';
import { readDefinitions } from './read-definitions.js';

const definition = { name: 'read', description: 'Reads.', inputSchema: { type: 'object' } };
const listedOf = async (...raw: object[]) =>
  (await readDefinitions(raw, { maxBytes: 65_536, maxDepth: 32 })).definitions;
const hashOf = async (raw: object) => (await listedOf(raw))[0]!.hash;
const server = (given: Partial<ConfiguredServer> = {}) =>
  configuredServer({
    name: 'files',
    builtin: false,
    trusted: false,
    isolation: 'process',
    open: () => Promise.reject(new Error('not opened here')),
    ...given,
  });

const firstOf = async (raw: object[], given: Partial<ConfiguredServer> = {}) =>
  planPublication({
    server: server(given),
    pinned: toolsOf(server(given)),
    listed: await listedOf(...raw),
    known: [],
    approved: new Map(),
    firstListing: true,
  });

/** The approved definition of `read`. */
async function knownTool(given: Partial<KnownTool> = {}): Promise<KnownTool> {
  const [published] = (await firstOf([definition])).writes;
  return {
    tool: 'read',
    position: 0,
    definitionHash: await hashOf(definition),
    publishedHash: published!.published!.hash,
    listed: true,
    held: null,
    heldPublishedHash: null,
    ...given,
  };
}

async function laterOf(raw: object[], changes: Partial<ConfiguredServer['changes']> = {}, before?: KnownTool) {
  const known = before ?? (await knownTool());
  const policy = { ...server().changes, ...changes };
  return planPublication({
    server: server({ changes: policy }),
    pinned: toolsOf(server()),
    listed: await listedOf(...raw),
    known: [known],
    approved: new Map(known.definitionHash === null ? [] : [['read', definition]]),
    firstListing: false,
  });
}

test('a tool that is named like a member of every object has no settings', async () => {
  const tools = { rename: {}, timeout_ms: {}, cache_ttl_ms: {}, retry: {} };
  const names = ['constructor', '__proto__', 'toString'];
  const { writes } = await firstOf(
    names.map((name) => ({ ...definition, name })),
    { tools },
  );
  expect(writes.map(({ published }) => published?.tool)).toMatchObject(
    names.map((tool) => ({ tool, timeoutMs: 1_000 })),
  );
});

verifies('reliability.safe-is-earned', 'hints count where the server is believed', async () => {
  const reading = { ...definition, annotations: { readOnlyHint: true } };
  const repeatable = { ...definition, annotations: { idempotentHint: true } };
  const read = async (raw: object, given: Partial<ConfiguredServer>) => (await firstOf([raw], given)).published[0];
  expect(await read(reading, {})).toMatchObject({ safe: false, readOnly: false });
  expect(await read(reading, { builtin: true, trusted: true })).toMatchObject({ safe: true, readOnly: true });
  expect(await read(repeatable, { trusted: true })).toMatchObject({ safe: true, readOnly: false });
  expect(await read(repeatable, { builtin: true, trusted: true })).toMatchObject({ safe: false });
  expect(await read(definition, { tools: { retry: { read: 'safe' } } })).toMatchObject({ safe: true, readOnly: false });
});

verifies('tools.calls-that-read', 'a tool of our own process says which, and no other', async () => {
  const annotations = { readOnlyHint: false, destructiveHint: true };
  const _meta = { 'signalbox/read_only_when': { method: ['GET'] }, 'signalbox/sessionless': true };
  const [tools, says] = [{ cache_ttl_ms: { read: 9 } }, { ...definition, annotations, _meta }];
  const read = async (raw: object, given: Partial<ConfiguredServer>) => {
    const [tool] = (await firstOf([raw], { trusted: true, tools, ...given })).published;
    const { safe, readOnly, readOnlyWhen, cacheTtlMs, cachePerSession } = tool!;
    return { safe, readOnly, readOnlyWhen, cacheTtlMs, cachePerSession };
  };
  const changes = { safe: false, readOnly: false };
  const reads = { safe: true, readOnly: true };
  expect(await read(says, { builtin: true })).toEqual({ ...changes, readOnlyWhen: { method: ['GET'] }, cacheTtlMs: 9 });
  expect(await read(says, {})).toEqual(changes);
  expect(await read({ ...definition, annotations }, { builtin: true })).toEqual(changes);
  // Its results may come from the session's files.
  const reading = { ...definition, annotations: { readOnlyHint: true } };
  expect(await read(reading, { builtin: true })).toEqual({ ...reads, cacheTtlMs: 9, cachePerSession: true });
  expect(await read(reading, {})).toEqual({ ...reads, cacheTtlMs: 9 });
  const ofFile = { ...reading, _meta: { 'signalbox/reads_file': 'path' } };
  const [own] = (await firstOf([ofFile], { builtin: true, tools })).published;
  const [other] = (await firstOf([ofFile], { trusted: true, tools })).published;
  expect([own?.readsFile, other?.readsFile]).toEqual(['path', undefined]);
});

test('only what is included and not excluded is offered, a name once', async () => {
  const names = async (tools: ConfiguredServer['tools']) =>
    (await firstOf([definition, { ...definition, name: 'write' }], { tools })).published.map(({ tool }) => tool);
  expect(await names({ include: ['read'] })).toEqual(['read']);
  expect(await names({ exclude: ['read'] })).toEqual(['write']);
  expect(await names({ rename: { write: 'read' } })).toEqual(['read']);
  // Stored anyway, so that it is not new if it is offered later.
  expect((await firstOf([definition], { tools: { exclude: ['read'] } })).writes[0]).toMatchObject({ published: null });
});

verifies('tools.changes-held', 'what is seen first is approved, what is the same is not written again', async () => {
  expect((await firstOf([definition])).writes).toMatchObject([
    { approved: { hash: await hashOf(definition) }, held: null },
  ]);
  expect(await laterOf([definition])).toMatchObject({ writes: [], changed: false, published: [{ tool: 'read' }] });
});

verifies(
  'tools.changes-held',
  'each grade by its policy; what is held back is offered as it was approved',
  async () => {
    const worded = { ...definition, description: 'Reads, and mails it away.' };
    const wider = { ...definition, inputSchema: { type: 'object', properties: { to: {} } } };
    for (const [grade, changed] of [
      ['wording', worded],
      ['contract', wider],
    ] as const) {
      const held = await laterOf([changed]);
      expect(held.published).toMatchObject([
        { description: 'Reads.', inputSchema: definition.inputSchema, definitionHash: await hashOf(definition) },
      ]);
      expect(held).toMatchObject({
        changed: false,
        writes: [{ held: { grade, decision: 'pending', hash: await hashOf(changed) } }],
      });
      expect(held.writes[0]!.seen).toMatchObject({ grade, outcome: 'held' });
      const allowed = await laterOf([changed], { [grade]: 'allow' });
      expect(allowed).toMatchObject({ changed: true, published: [{ definitionHash: await hashOf(changed) }] });
      expect(allowed.writes[0]).toMatchObject({ held: null, seen: { grade, outcome: 'allowed' } });
    }
    const spaced = { ...definition, description: 'Reads. ' };
    expect((await laterOf([spaced])).published).toMatchObject([{ definitionHash: await hashOf(spaced) }]);
    expect((await laterOf([spaced], { cosmetic: 'hold' })).published).toMatchObject([
      { definitionHash: await hashOf(definition) },
    ]);
  },
);

verifies('tools.changes-held', 'a new tool is not offered, and forgotten when it is gone', async () => {
  const write = { ...definition, name: 'write' };
  const held = await laterOf([definition, write]);
  expect(held.published.map(({ tool }) => tool)).toEqual(['read']);
  expect(held.writes).toMatchObject([{ tool: 'write', published: null, held: { grade: 'new' } }]);
  expect((await laterOf([definition, write], { new: 'allow' })).published.map(({ tool }) => tool)).toEqual([
    'read',
    'write',
  ]);
  const change = { grade: 'new' as const, decision: 'rejected' as const, hash: await hashOf(definition) };
  const rejected = await knownTool({ definitionHash: null, publishedHash: null, held: change });
  expect((await laterOf([definition], { new: 'allow' }, rejected)).published).toEqual([]);
  expect(await laterOf([], {}, rejected)).toMatchObject({ forgotten: ['read'], writes: [], published: [] });
});

verifies('tools.changes-held', 'a tool that is gone, and comes back as something else', async () => {
  const gone = await laterOf([]);
  expect(gone).toMatchObject({ published: [], changed: true });
  expect(gone.writes).toMatchObject([
    { listed: false, published: null, seen: { grade: 'removed', outcome: 'allowed' } },
  ]);
  const kept = await laterOf([], { removed: 'hold' });
  expect(kept).toMatchObject({ changed: false, published: [{ tool: 'read' }] });
  expect(kept.writes).toMatchObject([{ held: { grade: 'removed', decision: 'pending', hash: null } }]);
  const away = await knownTool({ listed: false, publishedHash: null });
  expect(await laterOf([], { removed: 'hold' }, away)).toMatchObject({ writes: [], published: [] });
  expect((await laterOf([definition], {}, away)).published).toMatchObject([
    { definitionHash: await hashOf(definition) },
  ]);
  const other = { ...definition, description: 'Deletes.' };
  expect(await laterOf([other], {}, away)).toMatchObject({
    published: [{ description: 'Reads.' }],
    writes: [{ held: { grade: 'wording' } }],
  });
});

verifies('tools.changes-held', 'what was rejected stays so until the server lists something else', async () => {
  const changed = { ...definition, description: 'Deletes.' };
  const held = { grade: 'wording' as const, decision: 'rejected' as const, hash: await hashOf(changed) };
  const known = await knownTool({ held });
  for (const wording of ['hold', 'allow'] as const) {
    const again = await laterOf([changed], { wording }, known);
    expect(again.published).toMatchObject([{ description: 'Reads.' }]);
    expect(again.writes.every((write) => write.held?.decision === 'rejected' && write.seen === undefined)).toBe(true);
  }
  expect((await laterOf([definition], {}, known)).writes).toMatchObject([{ held: null }]);
  const third = await laterOf([{ ...definition, description: 'Sends.' }], {}, known);
  expect(third.writes).toMatchObject([{ held: { decision: 'pending' }, seen: { outcome: 'held' } }]);
});

test('a changed configuration counts for what is held back too', async () => {
  const changed = { ...definition, description: 'Deletes.' };
  const held = { grade: 'wording' as const, decision: 'pending' as const, hash: await hashOf(changed) };
  const plan = await planPublication({
    server: server(),
    pinned: toolsOf(server({ timeoutMs: 77 })),
    listed: await listedOf(changed),
    known: [await knownTool({ held })],
    approved: new Map([['read', definition]]),
    firstListing: false,
  });
  expect(plan.published).toMatchObject([{ description: 'Reads.', timeoutMs: 77 }]);
  expect(plan.writes[0]!.held?.published?.tool).toMatchObject({ description: 'Deletes.', timeoutMs: 77 });
});
