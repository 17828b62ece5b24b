import { expect } from 'vitest';
import { type Kind, written } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';

type Written = Record<string, Record<string, unknown> | undefined>;

/** The effort, level or budget in a request; '-' if there is none. */
function sent(kind: Kind, model: string, effort: string): unknown {
  const body = written(kind, { model, parameters: { reasoning_effort: effort } }) as Written;
  const thinking = body['generationConfig']?.['thinkingConfig'] as { thinkingLevel?: string; thinkingBudget?: number };
  switch (kind) {
    case 'openai':
      return body['reasoning_effort'] ?? '-';
    case 'responses':
      return body['reasoning']?.['effort'] ?? '-';
    case 'anthropic':
      return body['output_config']?.['effort'] ?? body['thinking']?.['budget_tokens'] ?? '-';
    case 'gemini':
      return thinking?.thinkingLevel ?? thinking?.thinkingBudget ?? '-';
  }
}

const asked = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** What is sent for each of `asked`, in order. */
const rows: [Kind, string, string][] = [
  ['openai', 'gpt-4o', '- - - - - - -'],
  ['openai', 'gpt-4.1-mini', '- - - - - - -'],
  ['openai', 'gpt-5-chat-latest', '- - - - - - -'],
  ['openai', 'o3', 'low low low medium high high high'],
  ['openai', 'o4-mini-2025-04-16', 'low low low medium high high high'],
  ['openai', 'gpt-5', 'minimal minimal low medium high high high'],
  ['openai', 'gpt-5-mini', 'minimal minimal low medium high high high'],
  ['openai', 'gpt-5.1', 'none low low medium high high high'],
  ['openai', 'gpt-5.2-chat-latest', 'medium medium medium medium medium medium medium'],
  ['openai', 'gpt-5.2', 'none low low medium high xhigh xhigh'],
  ['openai', 'openai/gpt-5.2', 'none low low medium high xhigh xhigh'],
  ['openai', 'gpt-oss:20b', 'low low low medium high high high'],
  ['openai', 'google/gemini-2.5-flash', 'none minimal low medium high high high'],
  ['openai', 'gemini-3-flash', 'minimal minimal low medium high high high'],
  ['openai', 'mistral-small-latest', 'none none high high high high high'],
  ['openai', 'mistralai/mistral-medium-3-5', 'none none high high high high high'],
  ['openai', 'mistral-large-latest', 'low low low medium high high high'],
  ['openai', 'mistral-large-2411', '- - - - - - -'],
  ['openai', 'magistral-medium-latest', '- - - - - - -'],
  // Nobody knows what they have.
  ['openai', 'deepseek-v4', 'none minimal low medium high xhigh max'],
  ['responses', 'gpt-5-codex', 'low low low medium high high high'],
  ['responses', 'gpt-5.1-codex-max', 'low low low medium high xhigh xhigh'],
  ['responses', 'gpt-5-pro', 'high high high high high high high'],
  ['responses', 'gpt-5.2-pro', 'medium medium medium medium high xhigh xhigh'],
  ['responses', 'o3-deep-research', 'medium medium medium medium medium medium medium'],
  ['responses', 'gpt-5.4', 'none low low medium high xhigh xhigh'],
  ['responses', 'gpt-5.5-2026-04-23', 'none low low medium high xhigh xhigh'],
  ['responses', 'gpt-5.6-sol', 'none low low medium high xhigh max'],
  ['responses', 'gpt-6-luna', 'none low low medium high xhigh max'],
  ['responses', 'gpt-6-astra', 'low low low medium high xhigh max'],
  ['responses', 'gpt-6.2-sol', 'low low low medium high xhigh max'],
  ['responses', 'gpt-4o', '- - - - - - -'],
  ['anthropic', 'claude-3-5-haiku-latest', '- - - - - - -'],
  ['anthropic', 'claude-sonnet-4-5', '- 1024 2048 8192 24576 32768 32768'],
  ['anthropic', 'claude-opus-4-6', '- low low medium high max max'],
  ['anthropic', 'claude-opus-4-7', '- low low medium high xhigh max'],
  ['anthropic', 'claude-opus-5', 'low low low medium high xhigh max'],
  ['gemini', 'gemini-2.0-flash', '- - - - - - -'],
  ['gemini', 'gemini-2.5-flash', '0 1024 1024 8192 24576 24576 24576'],
  ['gemini', 'gemini-3-pro-preview', 'low low low high high high high'],
  ['gemini', 'gemini-3.1-pro-preview', 'low low low medium high high high'],
  ['gemini', 'gemini-3-flash-preview', 'minimal minimal low medium high high high'],
  ['gemini', 'gemini-3.7-flash', 'low low low medium high high high'],
];

for (const [kind, model, expected] of rows) {
  verifies('models.families.efforts', `${kind}, ${model}`, () => {
    expect(asked.map((effort) => String(sent(kind, model, effort))).join(' ')).toBe(expected);
  });
}

verifies('models.families.efforts', 'a word that is no effort is for the model to judge', () => {
  expect(sent('openai', 'gpt-5.1', 'lots')).toBe('lots');
  expect(sent('gemini', 'gemini-3.1-pro', 'lots')).toBe('high');
  expect(sent('openai', 'm', 'lots')).toBe('lots');
});

const tools = [{ name: 'f' }];
const withTools = (model: string, effort?: string) =>
  written('openai', { model, tools, parameters: effort === undefined ? {} : { reasoning_effort: effort } }, chat)[
    'reasoning_effort'
  ];
const chat = { wire: 'chat' };

verifies('models.families.efforts', 'chat completions: newer models get tools without an effort', () => {
  expect(withTools('gpt-5.5')).toBe('none');
  expect(withTools('gpt-5.5', 'high')).toBe('none');
  expect(withTools('gpt-5.6-terra', 'max')).toBe('none');
  expect(withTools('gpt-6-luna')).toBe('none');
  expect(withTools('gpt-5.4', 'low')).toBe('none');
  expect(withTools('gpt-5.4')).toBeUndefined();
  expect(withTools('gpt-5.2', 'low')).toBe('low');
  // These have no way to turn it off, and other servers have ways of their own.
  expect(withTools('gpt-6-astra')).toBeUndefined();
  expect(withTools('openai/gpt-5.5', 'high')).toBe('high');
  const without = written('openai', { model: 'gpt-5.6', parameters: { reasoning_effort: 'max' } }, chat);
  expect(without['reasoning_effort']).toBe('xhigh');
});
