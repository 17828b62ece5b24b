import { expect, test } from 'vitest';
import { definitionTokens } from './definition-tokens.js';

const tool = (description: string) => ({ name: 'read_file', description, inputSchema: { type: 'object' } });

test('four letters are a token, a Chinese character is one, and schemas count', () => {
  const bare = definitionTokens(tool(''));
  expect(bare).toBe(Math.ceil('{"name":"read_file","description":"","parameters":{"type":"object"}}'.length / 4));
  expect(definitionTokens(tool('x'.repeat(400))) - bare).toBe(100);
  expect(definitionTokens(tool('读'.repeat(400))) - bare).toBe(400);
  const described = { ...tool(''), inputSchema: { type: 'object', description: 'x'.repeat(800) } };
  expect(definitionTokens(described) - bare).toBeGreaterThan(200);
});

test('a definition is counted once', () => {
  let read = 0;
  const counted = {
    ...tool(''),
    get inputSchema() {
      read += 1;
      return { type: 'object' };
    },
  };
  expect(definitionTokens(counted)).toBe(definitionTokens(counted));
  expect(read).toBe(1);
});
