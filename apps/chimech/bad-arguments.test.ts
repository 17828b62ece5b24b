// Arguments of each tool that are damaged, empty, huge or wrongly encoded: what a caller is told, in its language.
import { afterAll, beforeAll, expect } from 'vitest';
import { type ChimechTestServer, openChimechServer, textOf } from '../../test/support/chimech-server.js';
import { verifies } from '../../test/verifies.js';
import { maxContentBytes } from './analyze/analyze.js';
import { maxQueryCharacters } from './query/query.js';

let server: ChimechTestServer;
beforeAll(async () => {
  server = await openChimechServer();
});
afterAll(() => server.close());

/** UTF-8 of two Chinese words, cut and read as UTF-8 all the same. */
const wrongEncoding = new TextDecoder().decode(Buffer.from('你好世界你好', 'utf16le'));
const binary = '\0\x01\x02\x03PNG\0\0\x05\x06';
const garbled = '\ufffd\ufffd\ufffd\ufffd天\ufffd\ufffd';
const words = '天气很好，我们去公园。';

type Case = [tool: string, args: object, code: string, text: RegExp];

const english: Case[] = [
  ['query', {}, 'INVALID_QUESTION', /Error: The question contains no text/],
  ['query', { question: 5 }, 'INVALID_QUESTION', /Error: The question contains no text/],
  ['query', { question: '\ufffd' }, 'INVALID_QUESTION', /Error: The question contains no text/],
  ['query', { question: binary }, 'INVALID_QUESTION', /Error: question is not text: it is binary/],
  ['query', { question: 'Why?', context: binary }, 'INVALID_PARAMS', /Error: context is not text/],
  ['query', { question: 'x'.repeat(maxQueryCharacters + 1) }, 'CONTEXT_TOO_LONG', /limit is 200000/],
  ['query', { question: 'Why?', temperature: 9 }, 'INVALID_PARAMS', /: temperature must be at most 2$/m],
  ['query', { question: 'Why?', maxTokens: 1.5 }, 'INVALID_PARAMS', /: maxTokens must be a whole number$/m],
  ['query', { question: 'Why?', maxTokens: 0 }, 'INVALID_PARAMS', /: maxTokens must be at least 1$/m],
  ['query', { question: 'Why?', priority: 'urgent' }, 'INVALID_PARAMS', /priority must be one of low, normal, high/],
  ['query', { question: 'Why?', conversation_id: '' }, 'INVALID_PARAMS', /conversation_id must not be empty/],
  ['generate', {}, 'INVALID_PARAMS', /: prompt is missing$/m],
  ['generate', { prompt: ' \n' }, 'INVALID_PARAMS', /: prompt must not be empty$/m],
  ['generate', { prompt: binary }, 'INVALID_PARAMS', /prompt is not text: it is binary/],
  ['generate', { prompt: 'x'.repeat(100_001) }, 'INVALID_PARAMS', /prompt must have at most 100000 characters/],
  ['generate', { prompt: 'A note', type: 'song' }, 'INVALID_PARAMS', /type must be one of text, code, email, report/],
  ['generate', { prompt: 'A note', options: 'short' }, 'INVALID_PARAMS', /: options must be an object$/m],
  ['generate', { prompt: 'A note', options: { template: 'no' } }, 'INVALID_PARAMS', /There is no template 'no'/],
  ['analyze', { type: 'text' }, 'INVALID_PARAMS', /: content is missing$/m],
  ['analyze', { content: '', type: 'text' }, 'INVALID_PARAMS', /: The content is empty$/m],
  ['analyze', { content: binary, type: 'text' }, 'INVALID_PARAMS', /The content is not text: it is binary/],
  ['analyze', { content: 'x'.repeat(maxContentBytes + 1), type: 'text' }, 'CONTEXT_TOO_LONG', /has 524289 bytes/],
  ['analyze', { content: 'Hi', type: 'sound' }, 'INVALID_PARAMS', /type must be one of text, code, data/],
  ['search', {}, 'INVALID_PARAMS', /: query is missing$/m],
  ['search', { query: ' ' }, 'INVALID_PARAMS', /: query must not be empty$/m],
  ['search', { query: binary }, 'INVALID_PARAMS', /query is not text: it is binary/],
  ['search', { query: 'x'.repeat(1_001) }, 'INVALID_PARAMS', /query must have at most 1000 characters/],
  ['search', { query: 'x', options: { limit: 0 } }, 'INVALID_PARAMS', /: options\.limit must be at least 1$/m],
  [
    'search',
    { query: 'x', filters: { category: [] } },
    'INVALID_PARAMS',
    /filters\.category must have at least 1 entr/,
  ],
  ['search', { query: 'x', filters: { source: 'wiki' } }, 'INVALID_PARAMS', /filters\.source must be a list/],
  ['search', { query: 'x', filters: { dateRange: { start: '1 May' } } }, 'INVALID_PARAMS', /start must be a date or a/],
  [
    'search',
    { query: 'x', filters: { dateRange: { start: '2026-02-01', end: '2026-01-01' } } },
    'INVALID_PARAMS',
    /filters\.dateRange starts after it ends/,
  ],
];

const chinese: Case[] = [
  ['query', { question: ' ', context: words }, 'INVALID_QUESTION', /错误：问题没有内容/],
  ['query', { question: garbled }, 'INVALID_QUESTION', /错误：question 不是文本/],
  ['query', { question: words, context: wrongEncoding.repeat(3) + binary }, 'INVALID_PARAMS', /context 不是文本/],
  ['query', { question: '天'.repeat(maxQueryCharacters + 1) }, 'CONTEXT_TOO_LONG', /最多 200000 个/],
  ['query', { question: words, temperature: 9 }, 'INVALID_PARAMS', /：temperature 不能大于 2$/m],
  ['query', { question: words, maxTokens: 'many' }, 'INVALID_PARAMS', /：maxTokens 应为数字$/m],
  ['query', { question: words, priority: 'urgent' }, 'INVALID_PARAMS', /priority 应为以下之一：low、normal、high/],
  ['generate', { prompt: garbled }, 'INVALID_PARAMS', /prompt 不是文本/],
  ['generate', { prompt: '天'.repeat(100_001) }, 'INVALID_PARAMS', /prompt 应不超过 100000 个字符/],
  ['generate', { prompt: words, type: 'song' }, 'INVALID_PARAMS', /type 应为以下之一：text、code、email、report/],
  ['generate', { prompt: words, options: { template: '无' } }, 'INVALID_PARAMS', /没有名为“无”的模板/],
  ['analyze', { content: garbled, type: 'text' }, 'INVALID_PARAMS', /内容不是文本/],
  [
    'analyze',
    { content: '天'.repeat(maxContentBytes / 2), type: 'text' },
    'CONTEXT_TOO_LONG',
    /最多可分析 524288 字节/,
  ],
  ['analyze', { content: words, type: '声音' }, 'INVALID_PARAMS', /type 应为以下之一：text、code、data/],
  ['search', { query: garbled }, 'INVALID_PARAMS', /query 不是文本/],
  ['search', { query: '天'.repeat(1_001) }, 'INVALID_PARAMS', /query 应不超过 1000 个字符/],
  ['search', { query: words, options: { limit: 101 } }, 'INVALID_PARAMS', /options\.limit 不能大于 100/],
  [
    'search',
    { query: words, filters: { dateRange: { end: '昨天' } } },
    'INVALID_PARAMS',
    /end 应为 ISO 8601 日期或时间/,
  ],
];

async function expectErrors(cases: Case[], form: RegExp): Promise<void> {
  for (const [tool, args, code, text] of cases) {
    const result = await server.call(`chimech/${tool}`, args as Record<string, unknown>);
    const shown = `${tool} ${JSON.stringify(args).slice(0, 80)}`;
    expect([result.isError, (result['metadata'] as { errorCode: string }).errorCode], shown).toEqual([true, code]);
    expect(textOf(result), shown).toMatch(form);
    expect(textOf(result), shown).toMatch(text);
  }
}

verifies('chimech.bad-arguments', 'in English', async () => {
  await expectErrors(english, /^❌ chimech\/\w+ failed\n\nError: [^\u4e00-\u9fff]+\n\nWhat to do: [^\u4e00-\u9fff]+$/);
  expect(server.gateway.requests).toEqual([]);
});

verifies('chimech.bad-arguments', 'in Chinese', async () => {
  await expectErrors(chinese, /^❌ chimech\/\w+ 调用失败\n\n错误：.+\n\n建议：.+$/);
  expect(server.gateway.requests).toEqual([]);
});

verifies('chimech.bad-arguments', 'a few damaged characters reach no model', async () => {
  await server.call('chimech/query', { question: 'Why\0 is a lone \ud800 half shown?' });
  await server.call('chimech/generate', { prompt: 'A note\0 about \udc00 halves' });
  const sent = server.gateway.requests.map(({ body }) => JSON.stringify(body['messages']));
  expect(sent[0]).toContain('Why is a lone \ufffd half shown?');
  expect(sent[1]).toContain('A note about \ufffd halves');
});
