import { expect, test } from 'vitest';
import type { Access } from '#libs/schemas/call-context.js';
import { chooseModel } from './choose-model.js';

const known = ['fast', 'openai/gpt-5', 'openai/gpt-5-mini', 'anthropic/claude-opus-4-8'];
const preferred = 'openai/gpt-5';
const key = (...models: string[]) => ({ models }) as unknown as Access;
const choose = (hints: string[], models?: string[], access?: Access) =>
  chooseModel({ hints, ...(models && { models }) }, { known, preferred }, access);

test('a whole name goes before a part of one, hints in their order', () => {
  expect(choose(['gpt-5-mini', 'claude'])).toBe('gpt-5-mini');
  expect(choose(['FAST'])).toBe('fast');
  expect(choose(['claude'])).toBe('anthropic/claude-opus-4-8');
  expect(choose(['none', 'mini'])).toBe('openai/gpt-5-mini');
});

test('without a hint that helps: the default, else the first one that is allowed', () => {
  expect(choose([])).toBeUndefined();
  expect(choose(['', 'none'])).toBeUndefined();
  expect(choose([], ['claude-*'])).toBe('claude-opus-4-8');
  expect(choose([], undefined, key('fast'))).toBe('fast');
});

test('server and key have to allow it, by a name that the key’s owner could write', () => {
  expect(choose(['gpt-5'], ['openai/*'], key('openai/*-mini'))).toBe('openai/gpt-5-mini');
  expect(choose([], undefined, key('gpt-5'))).toBe('gpt-5');
  for (const access of [key(), key('other')]) expect(() => choose(['fast'], undefined, access)).toThrow(/No model/);
  expect(() => choose(['fast'], ['claude-*'], key('fast'))).toThrow(/No model/);
});
