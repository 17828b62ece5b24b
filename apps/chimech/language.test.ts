import { expect, test } from 'vitest';
import { languageOfText, languageOfArguments } from './language.js';

test.each([
  ['What is MCP?', 'en'],
  ['什么是 MCP？', 'zh'],
  ['用 TypeScript 写一个排序函数', 'zh'],
  ['What does 你好 mean in English?', 'en'],
  ['OKR、CAC、LTV、NPS、DAU 怎么算', 'zh'],
  ['', 'en'],
  ['42', 'en'],
])('%s', (text, language) => {
  expect(languageOfText(text)).toBe(language);
});

test('the texts among arguments decide, whatever else is there', () => {
  expect(languageOfArguments({ question: '为什么天空是蓝色的？', priority: 'low', maxTokens: 3 })).toBe('zh');
  expect([languageOfArguments(null), languageOfArguments({ question: 3 })]).toEqual(['en', 'en']);
});

test('the question decides, not its context', () => {
  const english = 'A context in English, which has many more words than the question.';
  expect(languageOfArguments({ context: english, question: '这是什么？' })).toBe('zh');
  expect(languageOfArguments({ context: '这里是一些材料', question: '?' })).toBe('zh');
  expect(languageOfArguments({ context: '这里是一些材料', question: 'What is it?' })).toBe('en');
});
