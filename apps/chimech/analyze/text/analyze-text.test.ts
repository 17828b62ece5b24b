import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { analyzeText } from './analyze-text.js';
import { detectLanguage } from './detect-language.js';
import { chineseReadingEase, textComplexity } from './readability.js';
import { countWords, splitSentences, splitWords } from './split-text.js';
import type { TextStructure } from './text-structure.js';

const analyzed = (content: string, language?: string) => analyzeText({ type: 'text', content, language });
const structureOf = (content: string) => analyzed(content).structure as TextStructure;

verifies('chimech.analyze.text', 'words', () => {
  expect(countWords('The quick brown fox jumps over the lazy dog.')).toBe(9);
  expect(countWords("Don't count 3.14 twice — it’s one, not two.")).toBe(8);
  expect(countWords('Ünïcödé wörds, naïve café.')).toBe(4);
  expect([...splitWords('我们用 Node.js 写代码，真好')]).toEqual([
    '我们',
    '用',
    'Node.js',
    '写',
    '代码',
    undefined,
    '真好',
  ]);
  expect(countWords('我爱北京天安门')).toBe(4);
  expect(countWords(' \n…！')).toBe(0);
});

verifies('chimech.analyze.text', 'sentences', () => {
  expect(splitSentences('Dr. Smith met J. Doe at 3.5 km. It rained! "Why?" he asked. The end…')).toEqual([
    'Dr. Smith met J. Doe at 3.5 km.',
    'It rained!',
    '"Why?"',
    'he asked.',
    'The end…',
  ]);
  expect(splitSentences('你好。“真的吗？”他问。再见！')).toEqual(['你好。', '“真的吗？”', '他问。', '再见！']);
  expect(splitSentences('Use e.g. a list, etc. and so on.')).toHaveLength(1);
  expect(splitSentences('…')).toEqual([]);
});

verifies('chimech.analyze.text', 'Flesch of a known sentence, and the Chinese formula by hand', () => {
  // 6 words and 9 syllables: 206.835 − 1.015 · 6 − 84.6 · 9 / 6.
  expect(analyzed('Rivers carry water to the sea.').metrics).toMatchObject({ word_count: 6, readability_score: 73.8 });
  // 17.52547988 + 0.00242523 · 1000 + 0.04414527 · 40 − 18.33435443 · 0.95 is the school year 4.299.
  const figures = { words: 600, syllables: 0, rareWords: 30, hanCharacters: 1000, commonHanCharacters: 950 };
  expect(chineseReadingEase(figures, 25)).toBe(70);
  // 24 words a sentence: 76 % of the way from 5 to 30; 5 % rare words are a third of 15 %.
  expect(textComplexity(figures, 25, 0.15)).toBe(54.7);
});

verifies('chimech.analyze.text', 'easy texts are easier than hard ones, in both languages', () => {
  const easy = analyzed('The dog ran. The cat sat down. We had milk and bread. It was a good day.');
  const hard = analyzed(
    'Notwithstanding considerable methodological heterogeneity, longitudinal epidemiological investigations demonstrate statistically significant associations between socioeconomic deprivation and cardiovascular morbidity.',
  );
  expect(easy.metrics.readability_score).toBeGreaterThan(90);
  expect(hard.metrics.readability_score).toBe(0);
  expect(hard.metrics.complexity_score).toBeGreaterThan(easy.metrics.complexity_score + 50);

  const child = analyzed('小猫在家。小狗也在家。妈妈回来了。我们吃饭。');
  const classic = analyzed(
    '饕餮、螭魅、魍魉、夔夒皆先秦典籍所载之怪，其鬐鬣嶙峋，爪牙狰狞，踽踽于榛莽薮泽之间，而缙绅士大夫每引以为谶纬之征，斯亦诡谲瑰玮之甚矣，虽皓首穷经者亦难窥其涯涘也。',
  );
  expect(child.metrics.readability_score).toBe(100);
  expect(classic.metrics.readability_score).toBeLessThan(80);
  expect(classic.metrics.complexity_score).toBeGreaterThan(child.metrics.complexity_score + 30);
});

verifies('chimech.analyze.text', 'Markdown', () => {
  const text = [
    '---\ntitle: ignored\n---',
    '# Title\n\nOne paragraph\nover two lines. Two sentences.',
    '## Part\n\n- a\n- b\n  1. c\n  2. d\n\n```js\nconst code = 1;\n```\n\n| x | y |\n|---|---|\n| 1 | 2 |',
    'Setext\n---\n\n[Link](https://example.com/not-words) and <b>bold</b> text.',
  ].join('\n\n');
  expect(structureOf(text)).toMatchObject({
    language: 'en',
    headings: [
      { level: 1, text: 'Title', line: 5 },
      { level: 2, text: 'Part', line: 10 },
      { level: 2, text: 'Setext', line: 25 },
    ],
    paragraphs: 2,
    sentences: 7,
    lists: [
      { ordered: false, items: 2, line: 12 },
      { ordered: true, items: 2, line: 14 },
    ],
  });
  // Title, Part, Setext; 7 words of the first paragraph; a b c d; x y 1 2; "Link and bold text".
  expect(analyzed(text).metrics.word_count).toBe(22);
});

verifies('chimech.analyze.text', 'Chinese plain text with a paragraph a line', () => {
  const text = '第一章 总则\n人工智能正在改变生活。它很快！\n一、目的\n　　为了大家学习。';
  expect(structureOf(text)).toMatchObject({
    language: 'zh',
    headings: [
      { level: 1, text: '第一章 总则', line: 1 },
      { level: 2, text: '一、目的', line: 3 },
    ],
    paragraphs: 2,
    sentences: 3,
  });
});

verifies('chimech.analyze.text', 'languages', () => {
  expect(detectLanguage('我用 React 写前端')).toBe('zh');
  expect(detectLanguage('The word 中文 means Chinese')).toBe('en');
  expect(detectLanguage('これは日本語の文章です。')).toBe('other');
  expect(detectLanguage('Это русский текст о погоде и о людях')).toBe('other');
  const french =
    'Le chat est sur la table et il ne veut pas descendre parce que la pluie tombe depuis ce matin dans la ville';
  expect(detectLanguage(french)).toBe('other');
  expect(analyzed(french).metrics).not.toHaveProperty('readability_score');
  expect(analyzed(french).warnings).toHaveLength(1);
  expect(() => analyzed('text', 'klingon')).toThrow('zh, en');
});

const english = `Rivers carry water to the sea. A river begins at a spring, or where glaciers melt.
Glaciers melt faster in warm years. Many people drink river water, and farmers use river water for their fields.
The weather was nice. River water must be cleaned before people drink it.`;
const chinese = `机器学习是人工智能的分支。机器学习算法从数据中学习规律。有人喜欢喝茶。
数据质量决定机器学习算法的效果。没有数据，机器学习算法就没有用。`;

verifies('chimech.analyze.text', 'keywords and phrases', () => {
  expect(analyzed(english).keywords.slice(0, 3)).toContain('river water');
  expect(analyzed(chinese).keywords.slice(0, 3)).toContain('机器学习');
  expect(analyzed(english).keywords).not.toContain('the');
});

verifies('chimech.analyze.summary', 'extracted sentences are the content’s own, in its order', () => {
  for (const [text, minor] of [
    [english, 'weather was nice'],
    [chinese, '喝茶'],
  ] as const) {
    const { summary } = analyzed(text);
    expect(summary).not.toContain(minor);
    expect(summary.length).toBeLessThan(text.length);
  }
  expect(analyzed(english).summary).toMatch(/^Rivers carry water to the sea\. /);
});
