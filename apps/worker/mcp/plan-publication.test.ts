import { expect, test } from 'vitest';
import type { KnownTool } from '#libs/runs/catalog-store.js';
import { configuredServer } from '../../../test/support/configured-server.js';
import { verifies } from '../../../test/verifies.js';
import type { ConfiguredServer } from './configured-server.js';
import { planPublication } from './plan-publication.js';
import { readDefinitions } from './read-definitions.js';

const definition = { name: 'read', description: 'Reads.', inputSchema: { type: 'object' } };
const listedOf = (...raw: object[]) => readDefinitions(raw, { maxBytes: 65_536, maxDepth: 32 }).definitions;
const hashOf = (raw: object) => listedOf(raw)[0]!.hash;
const server = (given: Partial<ConfiguredServer> = {}) =>
  configuredServer({
    name: 'files',
    builtin: false,
    trusted: false,
    isolation: 'process',
    open: () => Promise.reject(new Error('not opened here')),
    ...given,
  });

const firstOf = (raw: object[], given: Partial<ConfiguredServer> = {}) =>
  planPublication({
    server: server(given),
    listed: listedOf(...raw),
    known: [],
    approved: new Map(),
    firstListing: true,
  });

/** `read` as it was approved. */
function knownTool(given: Partial<KnownTool> = {}): KnownTool {
  const [published] = firstOf([definition]).writes;
  return {
    tool: 'read',
    position: 0,
    definitionHash: hashOf(definition),
    publishedHash: published!.published!.hash,
    listed: true,
    held: null,
    heldPublishedHash: null,
    ...given,
  };
}

function laterOf(raw: object[], changes: Partial<ConfiguredServer['changes']> = {}, known = knownTool()) {
  const policy = { ...server().changes, ...changes };
  return planPublication({
    server: server({ changes: policy }),
    listed: listedOf(...raw),
    known: [known],
    approved: new Map(known.definitionHash === null ? [] : [['read', definition]]),
    firstListing: false,
  });
}

verifies('reliability.safe-is-earned', 'hints count where the server is believed', () => {
  const reading = { ...definition, annotations: { readOnlyHint: true } };
  const repeatable = { ...definition, annotations: { idempotentHint: true } };
  const read = (raw: object, given: Partial<ConfiguredServer>) => firstOf([raw], given).published[0];
  expect(read(reading, {})).toMatchObject({ safe: false, readOnly: false });
  expect(read(reading, { builtin: true, trusted: true })).toMatchObject({ safe: true, readOnly: true });
  expect(read(repeatable, { trusted: true })).toMatchObject({ safe: true, readOnly: false });
  expect(read(repeatable, { builtin: true, trusted: true })).toMatchObject({ safe: false });
  expect(read(definition, { tools: { retry: { read: 'safe' } } })).toMatchObject({ safe: true, readOnly: false });
});

test('only what is included and not excluded is offered, a name once', () => {
  const names = (tools: ConfiguredServer['tools']) =>
    firstOf([definition, { ...definition, name: 'write' }], { tools }).published.map(({ tool }) => tool);
  expect(names({ include: ['read'] })).toEqual(['read']);
  expect(names({ exclude: ['read'] })).toEqual(['write']);
  expect(names({ rename: { write: 'read' } })).toEqual(['read']);
  // Pinned all the same: it is nothing new when it is offered one day.
  expect(firstOf([definition], { tools: { exclude: ['read'] } }).writes[0]).toMatchObject({ published: null });
});

verifies('tools.changes-held', 'what is seen first is approved, what is the same is not written again', () => {
  expect(firstOf([definition]).writes).toMatchObject([{ approved: { hash: hashOf(definition) }, held: null }]);
  expect(laterOf([definition])).toMatchObject({ writes: [], changed: false, published: [{ tool: 'read' }] });
});

verifies('tools.changes-held', 'each grade by its policy; what is held back is offered as it was approved', () => {
  const worded = { ...definition, description: 'Reads, and mails it away.' };
  const wider = { ...definition, inputSchema: { type: 'object', properties: { to: {} } } };
  for (const [grade, changed] of [
    ['wording', worded],
    ['contract', wider],
  ] as const) {
    const held = laterOf([changed]);
    expect(held.published).toMatchObject([
      { description: 'Reads.', inputSchema: definition.inputSchema, definitionHash: hashOf(definition) },
    ]);
    expect(held).toMatchObject({
      changed: false,
      writes: [{ held: { grade, decision: 'pending', hash: hashOf(changed) } }],
    });
    expect(held.writes[0]!.seen).toMatchObject({ grade, outcome: 'held' });
    const allowed = laterOf([changed], { [grade]: 'allow' });
    expect(allowed).toMatchObject({ changed: true, published: [{ definitionHash: hashOf(changed) }] });
    expect(allowed.writes[0]).toMatchObject({ held: null, seen: { grade, outcome: 'allowed' } });
  }
  const spaced = { ...definition, description: 'Reads. ' };
  expect(laterOf([spaced]).published).toMatchObject([{ definitionHash: hashOf(spaced) }]);
  expect(laterOf([spaced], { cosmetic: 'hold' }).published).toMatchObject([{ definitionHash: hashOf(definition) }]);
});

verifies('tools.changes-held', 'a new tool is not offered, and forgotten when it is gone', () => {
  const write = { ...definition, name: 'write' };
  const held = laterOf([definition, write]);
  expect(held.published.map(({ tool }) => tool)).toEqual(['read']);
  expect(held.writes).toMatchObject([{ tool: 'write', published: null, held: { grade: 'new' } }]);
  expect(laterOf([definition, write], { new: 'allow' }).published.map(({ tool }) => tool)).toEqual(['read', 'write']);
  const change = { grade: 'new' as const, decision: 'rejected' as const, hash: hashOf(definition) };
  const rejected = knownTool({ definitionHash: null, publishedHash: null, held: change });
  expect(laterOf([definition], { new: 'allow' }, rejected).published).toEqual([]);
  expect(laterOf([], {}, rejected)).toMatchObject({ forgotten: ['read'], writes: [], published: [] });
});

verifies('tools.changes-held', 'a tool that is gone, and comes back as something else', () => {
  const gone = laterOf([]);
  expect(gone).toMatchObject({ published: [], changed: true });
  expect(gone.writes).toMatchObject([
    { listed: false, published: null, seen: { grade: 'removed', outcome: 'allowed' } },
  ]);
  const kept = laterOf([], { removed: 'hold' });
  expect(kept).toMatchObject({ changed: false, published: [{ tool: 'read' }] });
  expect(kept.writes).toMatchObject([{ held: { grade: 'removed', decision: 'pending', hash: null } }]);
  const away = knownTool({ listed: false, publishedHash: null });
  expect(laterOf([], { removed: 'hold' }, away)).toMatchObject({ writes: [], published: [] });
  expect(laterOf([definition], {}, away).published).toMatchObject([{ definitionHash: hashOf(definition) }]);
  const other = { ...definition, description: 'Deletes.' };
  expect(laterOf([other], {}, away)).toMatchObject({
    published: [{ description: 'Reads.' }],
    writes: [{ held: { grade: 'wording' } }],
  });
});

verifies('tools.changes-held', 'what was rejected stays so until the server lists something else', () => {
  const changed = { ...definition, description: 'Deletes.' };
  const held = { grade: 'wording' as const, decision: 'rejected' as const, hash: hashOf(changed) };
  const known = knownTool({ held });
  for (const wording of ['hold', 'allow'] as const) {
    const again = laterOf([changed], { wording }, known);
    expect(again.published).toMatchObject([{ description: 'Reads.' }]);
    expect(again.writes.every((write) => write.held?.decision === 'rejected' && write.seen === undefined)).toBe(true);
  }
  expect(laterOf([definition], {}, known).writes).toMatchObject([{ held: null }]);
  const third = laterOf([{ ...definition, description: 'Sends.' }], {}, known);
  expect(third.writes).toMatchObject([{ held: { decision: 'pending' }, seen: { outcome: 'held' } }]);
});

test('a changed configuration counts for what is held back too', () => {
  const changed = { ...definition, description: 'Deletes.' };
  const held = { grade: 'wording' as const, decision: 'pending' as const, hash: hashOf(changed) };
  const plan = planPublication({
    server: server({ timeoutMs: 77 }),
    listed: listedOf(changed),
    known: [knownTool({ held })],
    approved: new Map([['read', definition]]),
    firstListing: false,
  });
  expect(plan.published).toMatchObject([{ description: 'Reads.', timeoutMs: 77 }]);
  expect(plan.writes[0]!.held?.published?.tool).toMatchObject({ description: 'Deletes.', timeoutMs: 77 });
});
