import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../../../test/verifies.js';
import { toOpenAiSchema } from './to-openai-schema.js';

const text = { type: 'string' };

verifies('models.families.schemas', 'OpenAI: a plain object is sent as it is', () => {
  const schema = { type: 'object', properties: { a: { type: 'array', items: text }, b: { anyOf: [text] } } };
  expect(toOpenAiSchema(schema)).toBe(schema);
});

verifies('models.families.schemas', 'OpenAI: no choice and no reference at the top, a list is of something', () => {
  const schema: JsonObject = {
    $defs: { a: { type: 'object', properties: { a: { type: ['array', 'null'] } }, required: ['a'] } },
    oneOf: [{ $ref: '#/$defs/a' }, { type: 'object', properties: { b: text }, required: ['b'] }],
    enum: [{}],
  };
  expect(toOpenAiSchema(schema)).toEqual({
    $defs: { a: { type: 'object', properties: { a: { type: ['array', 'null'], items: {} } }, required: ['a'] } },
    type: 'object',
    properties: { a: { type: ['array', 'null'], items: {} }, b: text },
  });
  expect(toOpenAiSchema({})).toEqual({ type: 'object' });
  expect(toOpenAiSchema({ type: 'object', properties: { ['__proto__']: { type: 'array' } } })).toEqual({
    type: 'object',
    properties: { ['__proto__']: { type: 'array', items: {} } },
  });
});
