import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { PostgresToolChanges } from '#libs/runs/catalog/postgres-tool-changes.js';
import type { ServerOffers } from '#libs/runs/catalog/server-offers.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import { configuredServer } from '../../../../test/support/configured-server.js';
import { openServices, type Services } from '../../../../test/support/queue-path.js';
import { verifies } from '../../../../test/verifies.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ListedOffers } from '../servers/list-pages.js';
import { CatalogPublisher } from './publish-catalog.js';

let services: Services;
let store: PostgresCatalogStore;
let changes: PostgresToolChanges;
let counted: string[];
let publisher: CatalogPublisher;

beforeAll(async () => {
  services = await openServices();
  store = new PostgresCatalogStore(services.database);
  changes = new PostgresToolChanges(services.database);
  publisher = new CatalogPublisher({
    store,
    channels: services.backing.channels,
    limits: { maxBytes: 65_536, maxDepth: 32 },
    onChange: (grade, outcome) => void counted.push(`${grade} ${outcome}`),
    logger: silentLogger,
  });
});
afterAll(() => services?.close());

type Listed = Partial<Pick<ListedOffers, 'prompts' | 'instructions'>>;

function library(name: string, allowed: Partial<ConfiguredServer['changes']> = {}) {
  const open = () => Promise.reject(new Error('not opened here'));
  const server = configuredServer({ name, builtin: false, isolation: 'remote', open });
  const configured = { ...server, changes: { ...server.changes, ...allowed } };
  const list = async (given: Listed) => {
    counted = [];
    const rest = { resources: [], templates: [], completes: false, subscribes: false };
    const offers: ListedOffers = { ...rest, prompts: [], instructions: undefined, ...given };
    await publisher.publish(configured, {
      leftOut: [],
      tools: [{ name: 'link', inputSchema: { type: 'object' } }],
      offers,
    });
    return counted;
  };
  const offered = async () => {
    const { prompts, instructions } = (await store.offers(name))!;
    return [instructions, ...prompts.map((each) => `${each.name}: ${each['description'] as string}`)];
  };
  const held = async () =>
    (await changes.list({ limit: 50 }))
      .filter(({ server: of }) => of === name)
      .map(({ kind, tool, grade, decision, held: now }) => ({ kind, tool, grade, decision, hash: now?.hash ?? null }));
  const revision = async () => (await store.servers()).find(({ server: of }) => of === name)!.revision;
  const decide = async (decision: 'accept' | 'reject', ...tools: string[]) =>
    changes.decide(
      decision,
      (await held()).filter(({ tool }) => tools.includes(tool)).map((each) => ({ ...each, server: name })),
      { principal: 'ann', requestId: 'req_1' },
    );
  return { list, offered, held, decide, revision };
}

const review = { name: 'review', description: 'Reviews.', arguments: [{ name: 'language', required: true }] };
const summary = { name: 'summary', description: 'Sums up.' };

verifies('tools.prompts-held', 'what is seen first is approved; a later change waits', async () => {
  const { list, offered, held } = library('first');
  expect(await list({ prompts: [review], instructions: 'Cite.' })).toEqual([]);
  expect(await list({ prompts: [review], instructions: 'Cite.' })).toEqual([]);
  const changed = { ...review, description: 'Sends everything elsewhere.' };
  expect(await list({ prompts: [summary, changed], instructions: 'Send.' })).toEqual([
    'new held',
    'wording held',
    'wording held',
  ]);
  expect(await list({ prompts: [summary, changed], instructions: 'Send.' })).toEqual([]);
  expect(await offered()).toEqual(['Cite.', 'review: Reviews.']);
  expect(await held()).toMatchObject([
    { kind: 'instructions', tool: '', grade: 'wording' },
    { kind: 'prompt', tool: 'review', grade: 'wording' },
    { kind: 'prompt', tool: 'summary', grade: 'new' },
  ]);
  // What it lists again as it was approved waits no longer.
  await list({ prompts: [review], instructions: 'Cite.' });
  expect([await offered(), await held()]).toEqual([['Cite.', 'review: Reviews.'], []]);
});

verifies('tools.prompts-held', 'graded as tools are, by the same settings', async () => {
  const { list, offered } = library('graded', { wording: 'allow', removed: 'hold' });
  const gradeOf = async (now: Listed) => (await list(now)).join();
  await list({ prompts: [review], instructions: 'Cite.' });
  const cases: [Listed, ChangeGrade, string][] = [
    [{ prompts: [{ ...review, description: ' Reviews. ' }], instructions: 'Cite.' }, 'cosmetic', 'allowed'],
    [{ prompts: [{ ...review, title: 'Review' }], instructions: 'Cite.' }, 'wording', 'allowed'],
    [{ prompts: [{ ...review, title: 'Review' }], instructions: 'Cite it.' }, 'wording', 'allowed'],
    [{ prompts: [{ ...review, title: 'Review', arguments: [] }], instructions: 'Cite it.' }, 'contract', 'held'],
  ];
  for (const [now, grade, outcome] of cases) expect(await gradeOf(now)).toBe(`${grade} ${outcome}`);
  expect(await gradeOf({})).toBe('removed held,removed held');
  expect(await offered()).toEqual(['Cite it.', 'review: Reviews.']);
});

verifies(
  'tools.prompts-decided',
  'accepted with its audit row, offered at once, and after the next listing',
  async () => {
    const { list, offered, decide, held, revision } = library('decided');
    await list({ prompts: [review], instructions: 'Cite.' });
    const now = { prompts: [{ ...review, description: 'Looks.' }, summary], instructions: 'Cite it.' };
    await list(now);
    const before = await revision();
    expect((await decide('accept', 'review', '')).decided).toEqual([
      { kind: 'instructions', server: 'decided', tool: '', grade: 'wording' },
      { kind: 'prompt', server: 'decided', tool: 'review', grade: 'wording' },
    ]);
    expect(await revision()).not.toBe(before);
    expect(await offered()).toEqual(['Cite it.', 'review: Looks.']);
    expect((await decide('reject', 'summary')).decided).toMatchObject([{ tool: 'summary', grade: 'new' }]);
    expect(await list(now)).toEqual([]);
    expect(await offered()).toEqual(['Cite it.', 'review: Looks.']);
    expect(await held()).toMatchObject([{ tool: 'summary', decision: 'rejected' }]);
    const rows = await services.rows<{ arguments: string; state: string; tool: string }>(
      "select tool, state, arguments from audit_events where server = 'decided' and state <> 'held' order by tool",
    );
    expect(
      rows.map(({ tool, state, arguments: args }) => [tool, state, (JSON.parse(args) as { kind: string }).kind]),
    ).toEqual([
      ['', 'accepted', 'instructions'],
      ['review', 'accepted', 'prompt'],
      ['summary', 'rejected', 'prompt'],
    ]);
  },
);

verifies('tools.prompts-decided', 'all or none, together with tools, and in pages', async () => {
  const { list, decide, held } = library('together');
  await list({ prompts: [review] });
  await list({ prompts: [{ ...review, description: 'Looks.' }, summary] });
  const by = { principal: 'ann', requestId: 'req_1' };
  const [known] = await held();
  const tool = { kind: 'tool', server: 'together', tool: 'review', hash: known!.hash } as const;
  const wrong = await changes.decide('accept', [{ ...known!, server: 'together' }, tool], by);
  expect(wrong).toEqual({ decided: [], missing: 1 });
  expect(await held()).toHaveLength(2);
  const [first] = await changes.list({ limit: 1, after: { kind: 'prompt', server: 'together', tool: '' } });
  const [second] = await changes.list({ limit: 1, after: first! });
  expect([first?.tool, second?.tool]).toEqual(['review', 'summary']);
  const waiting = await changes.countPending();
  await decide('accept', 'review', 'summary');
  expect(await changes.countPending()).toBe(waiting - 2);
});

verifies('tools.prompts-held', 'beside workers and gateways of a version before, which pin nothing', async () => {
  const { list, offered, held, revision } = library('upgraded');
  await store.place('upgraded', 0);
  const call = { isolation: 'remote', timeoutMs: 1_000, maxTimeoutMs: 1_000 } as const;
  const unpinned = (description: string): ServerOffers => ({
    call,
    resources: [],
    templates: [],
    prompts: [{ ...review, description }],
    completes: false,
    subscribes: false,
  });
  await store.writeOffers('upgraded', unpinned('Reviews.'), false);
  expect(await offered()).toEqual([undefined, 'review: Reviews.']);
  // What was offered has been seen, so it is what changes are compared with.
  expect(await list({ prompts: [{ ...review, description: 'Sends.' }] })).toEqual(['wording held']);
  expect(await offered()).toEqual([undefined, 'review: Reviews.']);
  const documentOf = async () =>
    (await services.rows<{ offers: ServerOffers }>("select offers from catalog_offers where server = 'upgraded'"))[0]!
      .offers;
  expect((await documentOf()).prompts).toMatchObject([{ description: 'Reviews.' }]);
  // A worker of the version before publishes what it lists. Only gateways of that version offer it.
  await store.writeOffers('upgraded', unpinned('Sends.'), false);
  expect(await offered()).toEqual([undefined, 'review: Reviews.']);
  expect(await held()).toHaveLength(1);
  const before = await revision();
  await list({ prompts: [{ ...review, description: 'Sends.' }] });
  expect([(await documentOf()).prompts[0]!['description'], (await revision()) !== before]).toEqual(['Reviews.', true]);
});
