import { expect, test } from 'vitest';
import { maxValues, ValueCounter } from './value-counter.js';

const many = (unit: string, count: number) => `[${Array.from({ length: count }, () => unit).join(',')}]`;

test('values are counted, text is not, whatever stands in it', () => {
  const fits = [
    many('0', maxValues - 10),
    JSON.stringify({ text: '[{,'.repeat(maxValues) }),
    JSON.stringify({ text: `${String.raw`\"`}${',"'.repeat(maxValues)}` }),
    JSON.stringify(['\\', ','.repeat(maxValues * 2), '\\"', ','.repeat(maxValues * 2)]),
    '"never ends,,,'.padEnd(maxValues * 2, ','),
  ];
  for (const text of fits) expect(new ValueCounter().feed(Buffer.from(text)), text.slice(0, 20)).toBe(true);
  const tooMany = [many('0', maxValues + 10), many('{}', maxValues), '['.repeat(maxValues + 1)];
  for (const text of tooMany) expect(new ValueCounter().feed(Buffer.from(text)), text.slice(0, 20)).toBe(false);
  expect(new ValueCounter().feed(Buffer.from(`["\\\\",${many('0', maxValues)}]`))).toBe(false);
});

test('the same however it is cut', () => {
  const text = Buffer.from(JSON.stringify([String.raw`a\"b\\`, ',,,"', ...Array.from({ length: maxValues }, () => 0)]));
  for (const size of [1, 7, 4_096]) {
    const counter = new ValueCounter();
    let fits = true;
    for (let from = 0; from < text.length && fits; from += size) fits = counter.feed(text.subarray(from, from + size));
    expect(fits, `by ${size}`).toBe(false);
  }
});
