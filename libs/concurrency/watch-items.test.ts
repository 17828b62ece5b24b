import { expect, test } from 'vitest';
import { watchItems } from './watch-items.js';

async function* items(failure?: Error): AsyncGenerator<number> {
  try {
    yield 1;
    yield 2;
    if (failure !== undefined) throw failure;
  } finally {
    told.push('closed');
  }
}

let told: unknown[] = [];
const watcher = {
  note: (item: number) => void told.push(item),
  failed: (error: unknown) => void told.push(error),
  ended: () => void told.push('ended'),
};

async function read(failure: Error | undefined, most: number): Promise<{ seen: number[]; thrown?: unknown }> {
  told = [];
  const seen: number[] = [];
  try {
    for await (const item of watchItems(items(failure), watcher)) if (seen.push(item) === most) break;
    return { seen };
  } catch (thrown) {
    return { seen, thrown };
  }
}

test('what goes through is told and the end once, after the source has closed', async () => {
  expect(await read(undefined, Infinity)).toEqual({ seen: [1, 2] });
  expect(told).toEqual([1, 2, 'closed', 'ended']);
});

test('a failure is told and goes on to the reader', async () => {
  const failure = new Error('no');
  expect(await read(failure, Infinity)).toEqual({ seen: [1, 2], thrown: failure });
  expect(told).toEqual([1, 2, 'closed', failure, 'ended']);
});

test('a reader that leaves closes the source', async () => {
  expect(await read(undefined, 1)).toEqual({ seen: [1] });
  expect(told).toEqual([1, 'closed', 'ended']);
});
