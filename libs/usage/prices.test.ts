import { expect, test } from 'vitest';
import { readPriceTable } from '#libs/config/price-table.js';
import { verifies } from '../../test/verifies.js';
import { Prices } from './prices.js';

const usage = (prompt_tokens: number, completion_tokens: number, details?: Record<string, number>) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  ...(details && { prompt_tokens_details: details }),
});
const million = 1_000_000;

verifies('limits.prices', 'by provider/model or model, for each kind of token', () => {
  const table = {
    'gpt-x*': { input: 2, output: 8 },
    'gpt-x-mini*': { input: 0.15, cached_input: 0.075, output: 0.6 },
    'claude-*': { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 },
  };
  const prices = new Prices({ 'cheap/*': { input: 1, output: 1 } }, table);
  const usd = (provider: string, model: string, ...of: Parameters<typeof usage>) =>
    (prices.nanoUsdOf(provider, model, usage(...of)) ?? NaN) / 1e9;
  expect(usd('openai', 'gpt-x-2026-01-01', million, million)).toBe(10);
  expect(usd('openai', 'gpt-x-mini-1', million, 0, { cached_tokens: 400_000 })).toBeCloseTo(0.12);
  expect(
    usd('anthropic', 'claude-1', million, 1_000, { cached_tokens: 500_000, cache_creation_tokens: 100_000 }),
  ).toBeCloseTo(1.2 + 0.15 + 0.375 + 0.015);
  expect(usd('cheap', 'gpt-x-mini-1', million, million)).toBe(2);
  expect(prices.nanoUsdOf('openai', 'gpt-x-mini-1', usage(1, 1))).toBe(750);
  expect(prices.nanoUsdOf('ollama', 'llama3.2', usage(1, 1))).toBeUndefined();
});

test('counts that no provider should send cost nothing', () => {
  const prices = new Prices({ '*': { input: 1, output: 1 } }, {});
  const odd = { prompt_tokens: -5, completion_tokens: 'many', total_tokens: NaN } as never;
  expect(prices.nanoUsdOf('p', 'm', odd)).toBe(0);
});

test('the table that comes with Signalbox is read, and its names are of models', () => {
  const table = readPriceTable();
  expect(Object.keys(table).length).toBeGreaterThan(5);
  const prices = new Prices({}, table);
  expect(prices.nanoUsdOf('openai', 'gpt-4o-mini', usage(million, 0))).toBe(0.15e9);
  expect(prices.nanoUsdOf('openai', 'gpt-4o-realtime-preview', usage(million, 0))).toBeUndefined();
});
