import { expect, test } from 'vitest';
import { FairSlots } from './fair-slots.js';

const inAMinute = () => ({ signal: new AbortController().signal, deadline: Date.now() + 60_000 });

test('so many at once a key, the others in order', async () => {
  const slots = new FairSlots(1, 10, 'test');
  const order: string[] = [];
  const giveBack = await slots.take('a', inAMinute());
  const second = slots.take('a', inAMinute()).then((back) => (order.push('second'), back));
  const third = slots.take('a', inAMinute()).then((back) => (order.push('third'), back));
  await slots.take('b', inAMinute()).then((back) => back());
  expect(order).toEqual([]);
  giveBack();
  giveBack();
  (await second)();
  (await third)();
  expect(order).toEqual(['second', 'third']);
});

test('work that was interrupted waits before the others', async () => {
  const slots = new FairSlots(1, 10, 'test');
  const order: string[] = [];
  const giveBack = await slots.take('a', inAMinute());
  const fresh = slots.take('a', inAMinute()).then((back) => (order.push('fresh'), back));
  const resumed = slots.take('a', { ...inAMinute(), ahead: true }).then((back) => (order.push('resumed'), back));
  giveBack();
  (await resumed)();
  (await fresh)();
  expect(order).toEqual(['resumed', 'fresh']);
});

test('a full line refuses at once, a wait ends with its signal or deadline', async () => {
  const slots = new FairSlots(1, 1, 'test');
  const giveBack = await slots.take('a', inAMinute());
  const gone = new AbortController();
  const waiting = slots.take('a', { ...inAMinute(), signal: gone.signal });
  await expect(slots.take('a', inAMinute())).rejects.toMatchObject({ code: 'concurrency_exceeded' });
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  const late = { ...inAMinute(), deadline: Date.now() + 20 };
  await expect(slots.take('a', late)).rejects.toMatchObject({ code: 'concurrency_exceeded' });
  giveBack();
  (await slots.take('a', inAMinute()))();
});

test('all may wait under one signal without a warning of Node’s', async () => {
  const slots = new FairSlots(1, 20, 'test');
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  try {
    const given = inAMinute();
    const places = Array.from({ length: 21 }, () => slots.take('a', given));
    for (const place of places) (await place)();
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});
