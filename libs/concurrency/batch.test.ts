import { afterEach, expect, test, vi } from 'vitest';
import { Batch, type BatchRules } from './batch.js';

afterEach(() => vi.restoreAllMocks());

type Rules = BatchRules<string, string>;

/** A batch whose flushes end when the test says so. */
function gathering(given: Partial<Rules> = {}) {
  const flushed: string[] = [];
  const held: ((error?: Error) => void)[] = [];
  const batch = new Batch<string, string>({
    flush: (items) =>
      new Promise((resolve, reject) => {
        flushed.push(items.join(''));
        held.push((error) => (error === undefined ? resolve(items.map((item) => `${item}!`)) : reject(error)));
      }),
    schedule: setImmediate,
    oneByOne: true,
    maxWaiting: 100,
    refusal: (why) => new Error(why),
    ...given,
  });
  const end = async (error?: Error): Promise<void> => {
    while (held.length === 0) await new Promise(setImmediate);
    held.shift()!(error);
  };
  const submitAll = (items: string) => Promise.allSettled(items.split('').map((item) => batch.submit(item)));
  return { batch, flushed, end, submitAll };
}

const said = (results: readonly PromiseSettledResult<string>[]) =>
  results.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error).message));

test('one by one: what comes together, and what comes meanwhile, in order; each has its own result', async () => {
  const { flushed, end, submitAll } = gathering({ maxItems: 3 });
  const first = submitAll('ab');
  await end();
  const meanwhile = submitAll('cdef');
  expect(said(await first)).toEqual(['a!', 'b!']);
  await end();
  await end();
  expect(said(await meanwhile)).toEqual(['c!', 'd!', 'e!', 'f!']);
  expect(flushed).toEqual(['ab', 'cde', 'f']);
});

test('not one by one: all that has come begins at once, in as many batches as it takes', async () => {
  const { flushed, end, submitAll } = gathering({ oneByOne: false, maxItems: 2, schedule: process.nextTick });
  const all = submitAll('abcde');
  await new Promise(setImmediate);
  expect(flushed).toEqual(['ab', 'cd', 'e']);
  for (const _each of flushed) await end();
  expect(said(await all)).toEqual(['a!', 'b!', 'c!', 'd!', 'e!']);
});

test('a batch stays within its size, and a larger item goes alone', async () => {
  const sizes: Record<string, number> = { x: 20, m: 6, b: 4 };
  const { flushed, end, submitAll } = gathering({ oneByOne: false, maxSize: 10, sizeOf: (item) => sizes[item] ?? 1 });
  const all = submitAll('aaxmbmx');
  await new Promise(setImmediate);
  expect(flushed).toEqual(['aa', 'x', 'mb', 'm', 'x']);
  for (const _each of flushed) await end();
  await all;
});

test('an item that does not fit is passed by others, and keeps its place among its own', async () => {
  const { flushed, end, submitAll } = gathering({
    oneByOne: false,
    maxItems: 3,
    fits: (item, other) => item.toLowerCase() === other.toLowerCase(),
  });
  const all = submitAll('abABaAb');
  await new Promise(setImmediate);
  expect(flushed).toEqual(['aAa', 'bBb', 'A']);
  for (const _each of flushed) await end();
  expect(said(await all)).toEqual(['a!', 'b!', 'A!', 'B!', 'a!', 'A!', 'b!']);
});

test('what finds no room is refused, by number and by size; what has gone makes room', async () => {
  const { end, submitAll } = gathering({
    maxWaiting: 3,
    maxWaitingSize: 10,
    sizeOf: (item) => (item === 'x' ? 20 : 4),
  });
  const alone = submitAll('x');
  await new Promise(setImmediate);
  const all = submitAll('aab');
  const single = submitAll('x');
  expect(said(await single)).toEqual(['full']);
  await end();
  await end();
  expect(said(await alone)).toEqual(['x!']);
  expect(said(await all)).toEqual(['a!', 'a!', 'full']);
  const numbered = gathering({ maxWaiting: 3 });
  const four = numbered.submitAll('abcd');
  await numbered.end();
  expect(said(await four)).toEqual(['a!', 'b!', 'c!', 'full']);
});

test('what waited too long is refused and not flushed; what came later goes', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const { batch, flushed, end, submitAll } = gathering({ maxWaitMs: 30 });
  const first = submitAll('a');
  await new Promise(setImmediate);
  const late = submitAll('b');
  now.mockReturnValue(31);
  const inTime = submitAll('c');
  await end();
  await end();
  expect([...said(await first), ...said(await late), ...said(await inTime)]).toEqual(['a!', 'late', 'c!']);
  expect(flushed).toEqual(['a', 'c']);
  expect(batch.isWaiting).toBe(false);
});

test('a failure is said to each of its batch, and the next goes on', async () => {
  const { flushed, end, submitAll } = gathering({ maxItems: 2 });
  const all = submitAll('abc');
  await end(new Error('away'));
  await end();
  expect(said(await all)).toEqual(['away', 'away', 'c!']);
  expect(flushed).toEqual(['ab', 'c']);
  const throwing = gathering({
    flush: () => {
      throw new Error('at once');
    },
  });
  expect(said(await throwing.submitAll('ab'))).toEqual(['at once', 'at once']);
});

test('where it may be one item’s fault, each is tried alone, still before what comes after', async () => {
  const flushed: string[] = [];
  const { submitAll } = gathering({
    maxItems: 3,
    flush: async (items) => {
      flushed.push(items.join(''));
      await new Promise(setImmediate);
      flushed.push('.');
      if (items.includes('x')) throw new Error('bad');
      return items;
    },
    triesAlone: (error) => (error as Error).message === 'bad',
  });
  expect(said(await submitAll('axbc'))).toEqual(['a', 'bad', 'b', 'c']);
  expect(flushed).toEqual(['axb', '.', 'a', '.', 'x', '.', 'b', '.', 'c', '.']);
});

test('those that wait can be refused, and their room is free again', async () => {
  const { batch, flushed, end, submitAll } = gathering({ maxWaitingSize: 2, sizeOf: () => 1 });
  const under = submitAll('a');
  await new Promise(setImmediate);
  const waiting = submitAll('bc');
  batch.refuseWaiting(new Error('hangs'));
  expect(said(await waiting)).toEqual(['hangs', 'hangs']);
  const after = submitAll('de');
  await end();
  await end();
  expect([...said(await under), ...said(await after)]).toEqual(['a!', 'd!', 'e!']);
  expect(flushed).toEqual(['a', 'de']);
});

test('settling begins at once and waits for what was there, closing refuses what comes', async () => {
  const { batch, flushed, end, submitAll } = gathering({ maxItems: 1 });
  const before = submitAll('ab');
  let settled = false;
  const settling = batch.settle().then(() => (settled = true));
  expect(flushed).toEqual(['a']);
  await end();
  const after = submitAll('c');
  await new Promise(setImmediate);
  expect(settled).toBe(false);
  await end();
  await settling;
  expect(said(await before)).toEqual(['a!', 'b!']);
  const closing = batch.close();
  expect(said(await submitAll('d'))).toEqual(['closed']);
  await end(new Error('away'));
  await closing;
  expect(said(await after)).toEqual(['away']);
  await batch.settle();
});
