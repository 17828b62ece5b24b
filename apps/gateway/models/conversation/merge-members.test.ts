import { expect, test } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../../../test/verifies.js';
import { mergeMembers } from './merge-members.js';

const joined = (...pieces: JsonObject[]) => {
  const before = JSON.stringify(pieces);
  const merged = pieces.reduce<JsonObject>(mergeMembers, {});
  expect(JSON.stringify(pieces), 'the pieces were passed on and must not change').toBe(before);
  return merged;
};
const details = (...pieces: JsonObject[]) =>
  joined(...pieces.map((piece) => ({ reasoning_details: [piece] })))['reasoning_details'];
const text = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };

verifies(
  'models.openai.kept-members',
  'pieces of one thought become one entry, with the signature that ends it',
  () => {
    const pieces = [
      { ...text, text: 'Let ' },
      { ...text, text: 'me ', signature: null },
      { ...text, text: 'see', id: null },
      { ...text, signature: 's1' },
    ];
    expect(details(...pieces)).toEqual([{ ...text, text: 'Let me see', signature: 's1', id: null }]);
  },
);

verifies('models.openai.kept-members', 'another index, type, id or signature is another entry', () => {
  const summary = { type: 'reasoning.summary', format: 'openai-responses-v1', index: 0 };
  const sealed = { type: 'reasoning.encrypted', data: 'x', format: 'openai-responses-v1', index: 0 };
  expect(
    details(
      { ...summary, summary: 'a' },
      { ...summary, summary: 'b' },
      { ...sealed, id: 'r1' },
      { ...sealed, id: 'r2' },
    ),
  ).toEqual([
    { ...summary, summary: 'ab' },
    { ...sealed, id: 'r1' },
    { ...sealed, id: 'r2' },
  ]);
  expect(details({ ...text, text: 'a' }, { ...text, index: 1, text: 'b' })).toHaveLength(2);
  expect(details({ ...text, text: 'a', signature: 's1' }, { ...text, text: 'b', signature: 's2' })).toHaveLength(2);
  expect(details(sealed, sealed), 'data is never joined').toEqual([sealed, sealed]);
});

test('text grows, what is repeated does not, null adds nothing', () => {
  expect(joined({ thought: 'a', id: 'x' }, { thought: 'b', id: 'x' }, { thought: null, more: { a: 1 } })).toEqual({
    thought: 'ab',
    id: 'x',
    more: { a: 1 },
  });
  const google = { google: { thought_signature: 's' } };
  expect(joined({ extra_content: google }, { extra_content: google })).toEqual({ extra_content: google });
  expect(joined({ a: { b: [1] } }, { a: { b: [2], c: 'd' } })).toEqual({ a: { b: [1, 2], c: 'd' } });
});

test('a member named __proto__ changes nothing', () => {
  const hostile = JSON.parse(
    '{"a":{"__proto__":{"x":1}},"l":[{"type":"t","text":"a","__proto__":{"x":1}}]}',
  ) as JsonObject;
  const merged = [hostile, hostile].reduce<JsonObject>(mergeMembers, {});
  expect(Object.getPrototypeOf(merged['a'])).toBe(Object.prototype);
  expect(({} as JsonObject)['x']).toBeUndefined();
});
