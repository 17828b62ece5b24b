import { expect, test } from 'vitest';
import { languageOf, languageOfArguments } from './language.js';

test.each([
  ['What is MCP?', 'en'],
  ['什么是 MCP？', 'zh'],
  ['用 TypeScript 写一个排序函数', 'zh'],
  ['What does 你好 mean in English?', 'en'],
  ['', 'en'],
  ['42', 'en'],
])('%s', (text, language) => {
  expect(languageOf(text)).toBe(language);
});

test('the texts among arguments decide, whatever else is there', () => {
  expect(languageOfArguments({ question: '为什么天空是蓝色的？', priority: 'low', maxTokens: 3 })).toBe('zh');
  expect([languageOfArguments(null), languageOfArguments({ question: 3 })]).toEqual(['en', 'en']);
});
