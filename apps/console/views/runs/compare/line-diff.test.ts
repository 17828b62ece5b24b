import { expect, test } from 'vitest';
import { type DiffRow, lineDiff } from './line-diff.js';

const words = (rows: readonly DiffRow[]) =>
  rows.map((row) => {
    if (row.kind === 'skipped') return `…${row.count}`;
    return row.kind === 'same' ? ` ${row.text}` : `${row.left ?? ''}|${row.right ?? ''}`;
  });
const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`);

test('a line that was changed, one that was added and one that is gone', () => {
  expect(words(lineDiff('a\nb\nc\nd', 'a\nB\nc\nx\nd'))).toEqual([' a', 'b|B', ' c', '|x', ' d']);
  expect(words(lineDiff('a\nb\nc', 'c'))).toEqual(['a|', 'b|', ' c']);
  expect(words(lineDiff(undefined, 'a\nb'))).toEqual(['|a', '|b']);
  expect(words(lineDiff('a', ''))).toEqual(['a|']);
});

test('what is far from a change is folded', () => {
  const before = lines(20);
  const after = before.with(10, 'other');
  expect(words(lineDiff(before.join('\n'), after.join('\n')))).toEqual([
    '…8',
    ' line 8',
    ' line 9',
    'line 10|other',
    ' line 11',
    ' line 12',
    '…7',
  ]);
  expect(words(lineDiff('a\nb', 'a\nb'))).toEqual([' a', ' b']);
  expect(words(lineDiff(lines(5).join('\n'), lines(5).join('\n')))).toEqual(['…5']);
});

test('texts of many lines take a bounded time', () => {
  const [one, other] = [lines(20_000), lines(20_000).map((line) => `${line}!`)];
  const begun = performance.now();
  expect(lineDiff(one.join('\n'), other.join('\n')).length).toBeGreaterThan(1_000);
  expect(performance.now() - begun).toBeLessThan(2_000);
});
