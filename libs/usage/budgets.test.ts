// Budgets and usage in a real database, of two gateways.
import { afterAll, beforeAll, expect } from 'vitest';
import { KeyStore } from '#libs/access/key-store.js';
import { silentLogger } from '#libs/logging/logger.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { AppError } from '#libs/schemas/errors.js';
import { createMigratedDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { type BudgetCaller, Budgets } from './budgets.js';
import { UsageMeter, type UsageMeterParts } from './usage-meter.js';
import { UsageStore } from './usage-store.js';

let made: TestDatabase;
let database: Database;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  made = await createMigratedDatabase();
  database = openDatabase({ url: made.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
});
afterAll(async () => {
  for (const close of closing) await close();
  await database?.close();
  await made?.drop();
});

function openGateway(
  on: Database = database,
  maxSums?: number,
  writes: UsageMeterParts['writes'] = new StoreWrites(on),
) {
  const clock = { movedMs: 0 };
  const dropped = { count: 0 };
  const meter = new UsageMeter({
    writes,
    logger: silentLogger,
    onDropped: () => dropped.count++,
    ...(maxSums === undefined ? {} : { maxSums }),
  });
  const budgets = new Budgets({
    store: new UsageStore(on),
    flush: () => meter.flush(),
    settings: { day_usd: 1 },
    logger: silentLogger,
    now: () => performance.now() + clock.movedMs,
  });
  closing.push(async () => {
    await meter.close();
    await budgets.close();
  });
  const spend = (caller: BudgetCaller, usd: number, model = 'p/m') => {
    const { keyId, principal } = caller;
    const used = { keyId, principal, model, tool: '', requests: 1, calls: 0, promptTokens: 10, completionTokens: 5 };
    meter.add({ ...used, nanoUsd: usd * 1e9 });
    budgets.add(caller, usd * 1e9);
  };
  return { meter, budgets, spend, clock, dropped };
}
const access = (budgets: object = {}) => ({ roles: [], scopes: [], tools: {}, limits: {}, budgets });

verifies('limits.budget-overshoot', 'what one gateway spends, the other knows', async () => {
  const [one, two] = [openGateway(), openGateway()];
  const caller: BudgetCaller = { principal: 'ann', keyId: 'key_ann', access: access() };
  expect(await one.budgets.spentBy(caller)).toBeUndefined();
  one.spend(caller, 0.6);
  await one.meter.flush();
  expect(await two.budgets.spentBy(caller)).toBeUndefined();
  // More than half: each question reads.
  one.spend(caller, 0.4);
  expect(await one.budgets.spentBy(caller)).toMatchObject({ period: 'day', usd: 1 });
  await one.meter.flush();
  expect(await two.budgets.spentBy(caller)).toMatchObject({ period: 'day', usd: 1 });
  expect(two.budgets.knownSpent(caller)).toMatchObject({ period: 'day', usd: 1 });
  const other: BudgetCaller = { principal: 'ann', keyId: 'key_other', access: access() };
  expect(await two.budgets.spentBy(other)).toBeUndefined();
  const month: BudgetCaller = { ...caller, access: access({ day_usd: 100, month_usd: 1 }) };
  const end = await two.budgets.spentBy(month);
  expect(end).toMatchObject({ period: 'month', usd: 1 });
  expect(end!.leftMs).toBeLessThanOrEqual(31 * 86_400_000);
  expect(await two.budgets.spentBy({ ...caller, access: access({ day_usd: 100 }) })).toBeUndefined();
});

verifies('limits.budget-rotated', 'through a row of keys', async () => {
  const keys = new KeyStore(database, { audit: false });
  const actor = { principal: 'root', requestId: 'req_1' };
  const first = await keys.create({ owner: 'bob', scopes: ['chat'], roles: [] }, actor);
  const second = await keys.rotate(first.stored.id, 60, actor);
  const third = await keys.rotate(second.stored.id, 60, actor);
  const { spend, meter, budgets } = openGateway();
  spend({ principal: 'bob', keyId: first.stored.id }, 0.5);
  spend({ principal: 'bob', keyId: second.stored.id }, 0.5);
  await meter.flush();
  const of = (keyId: string) => budgets.spentBy({ principal: 'bob', keyId, access: access() });
  expect(await of(third.stored.id)).toMatchObject({ period: 'day' });
  expect(await of(first.stored.id)).toBeUndefined();
});

verifies('limits.budget-away', 'then nothing is known for sure', async () => {
  const away = openDatabase({ url: made.url, poolSize: 1, timeoutMs: 1_000, applicationName: 'test' });
  const { budgets, clock } = openGateway(away);
  const known: BudgetCaller = { principal: 'eve', access: access() };
  expect(await budgets.spentBy(known)).toBeUndefined();
  await away.close();
  clock.movedMs = 30_000;
  expect(await budgets.spentBy(known)).toBeUndefined();
  const unavailable = expect.objectContaining<Partial<AppError>>({ code: 'store_unavailable' });
  await expect(budgets.spentBy({ principal: 'new', access: access() })).rejects.toEqual(unavailable);
  clock.movedMs = 61_000;
  await expect(budgets.spentBy(known)).rejects.toEqual(unavailable);
});

verifies('limits.usage-report', 'sums by any of four groups, of one or of all', async () => {
  const { meter } = openGateway();
  const use = {
    keyId: 'key_u',
    principal: 'una',
    requests: 0,
    calls: 0,
    promptTokens: 0,
    completionTokens: 0,
    nanoUsd: 0,
  };
  meter.add({ ...use, model: 'p/a', tool: '', requests: 1, promptTokens: 100, completionTokens: 7, nanoUsd: 2e6 });
  meter.add({ ...use, model: 'p/b', tool: '', promptTokens: 11, completionTokens: 3 });
  meter.add({ ...use, model: 'p/a', tool: 'files/read', calls: 2 });
  meter.add({ ...use, keyId: undefined, model: '', tool: 'files/read', requests: 1, calls: 1 });
  await meter.flush();
  const store = new UsageStore(database);
  const report = async (...by: ('key' | 'model' | 'tool' | 'day')[]) =>
    store.report({ by, since: undefined, until: undefined, principal: 'una' });
  const total = {
    requests: 2,
    calls: 3,
    prompt_tokens: 111,
    completion_tokens: 10,
    cost_usd: 0.002,
    unpriced_tokens: 0,
  };
  expect(await report()).toEqual({ data: [total], total });
  const none = { requests: 0, calls: 0, prompt_tokens: 0, completion_tokens: 0, cost_usd: 0, unpriced_tokens: 0 };
  expect((await report('tool')).data).toEqual([
    { ...none, tool: 'files/read', requests: 1, calls: 3 },
    { ...total, tool: null, requests: 1, calls: 0 },
  ]);
  expect((await report('model', 'key')).data).toHaveLength(3);
  const day = (await report('day')).data[0]!.day!;
  const next = new Date(Date.parse(day) + 86_400_000);
  const days = (since: Date, until: Date) => store.report({ by: ['day'], since, until, principal: 'una' });
  expect((await days(new Date(day), next)).data).toHaveLength(1);
  expect((await days(new Date(day), new Date(day))).data).toEqual([]);
  expect((await days(next, new Date(+next + 1))).data).toEqual([]);
  const all = await store.report({ by: ['key'], since: undefined, until: undefined, principal: undefined });
  expect(all.data.length).toBeGreaterThan(3);
});

verifies('limits.usage-right', 'sums at once from two gateways, and while the database is away', async () => {
  const [one, two] = [openGateway(), openGateway()];
  const caller: BudgetCaller = { principal: 'max', keyId: 'key_max' };
  await Promise.all(
    Array.from({ length: 200 }, async (_, number) => {
      const { spend, meter } = [one, two][number % 2]!;
      spend(caller, 0.001);
      if (number % 5 === 0) await meter.flush();
    }),
  );
  await Promise.all([one.meter.flush(), two.meter.flush()]);
  const { total } = await new UsageStore(database).report({
    by: [],
    since: undefined,
    until: undefined,
    principal: 'max',
  });
  expect(total).toEqual({
    requests: 200,
    calls: 0,
    prompt_tokens: 2_000,
    completion_tokens: 1_000,
    cost_usd: 0.2,
    unpriced_tokens: 0,
  });
  const few = openGateway(database, 1);
  few.spend(caller, 0, 'p/one');
  few.spend(caller, 0, 'p/two');
  few.spend(caller, 0, 'p/one');
  expect(few.dropped.count).toBe(1);
});

verifies('limits.usage-right', 'a batch is counted once when nobody knows whether it was written', async () => {
  const writes = new StoreWrites(database);
  let submitted = 0;
  const unsure: UsageMeterParts['writes'] = {
    async submit(name, row) {
      submitted += 1;
      const written = await writes.submit(name, row);
      // The commit is done, and its answer lost.
      if (submitted <= 2) throw new AppError('store_unavailable', 'The connection was cut');
      return written;
    },
  };
  const { meter, spend } = openGateway(database, undefined, unsure);
  const caller: BudgetCaller = { principal: 'una sure', keyId: 'key_unsure' };
  const report = async () => {
    const asked = { by: [], since: undefined, until: undefined, principal: 'una sure' };
    return (await new UsageStore(database).report(asked)).total.requests;
  };
  spend(caller, 0.1);
  spend(caller, 0.1, 'p/other');
  await meter.flush();
  expect([submitted, await report()]).toEqual([1, 2]);
  // What came meanwhile waits for it.
  spend(caller, 0.1);
  await meter.flush();
  expect([submitted, await report()]).toEqual([2, 2]);
  await meter.flush();
  expect([submitted, await report()]).toEqual([4, 3]);
});

verifies('limits.usage-right', 'what the store refuses for good is dropped, and holds up nothing', async () => {
  const writes = new StoreWrites(database);
  const { meter, spend, dropped } = openGateway(database, undefined, writes);
  spend({ principal: 'rex', keyId: 'key_rex' }, 1e12);
  await meter.flush();
  expect(dropped.count).toBe(1);
  spend({ principal: 'rex', keyId: 'key_rex' }, 0.5);
  await meter.flush();
  const asked = { by: [], since: undefined, until: undefined, principal: 'rex' };
  expect((await new UsageStore(database).report(asked)).total.cost_usd).toBe(0.5);
});
