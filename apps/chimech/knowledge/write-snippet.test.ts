import { expect, test } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { writeSnippet } from './write-snippet.js';

const sought = (words: string[], characters: string[] = [], exact?: string) => ({
  words: new Set(words),
  characters: new Set(characters),
  ...(exact !== undefined && { exact }),
});

verifies('knowledge.snippets', 'where most was found, in Latin and Chinese, whole words and characters', () => {
  const filler = 'Nothing of interest is said here. '.repeat(20);
  const text = `${filler}A lone fox.\n${filler}The Fox met another fox near the bears. ${filler}`;
  const snippet = writeSnippet(text, sought(['fox', 'bears']));
  expect(snippet).toContain('The **Fox** met another **fox** near the **bears**.');
  expect(snippet).toMatch(/^… \S.* …$/);
  expect(snippet.length).toBeLessThan(280);
  expect(
    snippet
      .replaceAll(/[*…]/g, '')
      .trim()
      .split(' ')
      .every((word) => text.includes(word)),
  ).toBe(true);

  const chinese = `${'这里没有内容。'.repeat(60)}数据库索引加快查询。${'这里没有内容。'.repeat(60)}`;
  expect(writeSnippet(chinese, sought([], ['索引', '引加', '查询']))).toContain('数据库**索引加**快**查询**。');
  expect(writeSnippet('Café ＡＢＣ', sought(['cafe', 'abc']))).toBe('**Café** **ＡＢＣ**');
  expect(writeSnippet('one two, One Two', sought([], [], 'one two'))).toBe('**one two**, **One Two**');
});

test('a passage without anything found, an empty one, and characters of two halves', () => {
  expect(writeSnippet('short', sought([]))).toBe('short');
  expect(writeSnippet('', sought(['a']))).toBe('');
  for (let shift = 0; shift < 4; shift += 1) {
    const snippet = writeSnippet(`${'x'.repeat(shift)}${'😀'.repeat(300)} fox ${'😀'.repeat(300)}`, sought(['fox']));
    expect(snippet).toContain('**fox**');
    expect(snippet).not.toMatch(/\p{Surrogate}/u);
  }
});
