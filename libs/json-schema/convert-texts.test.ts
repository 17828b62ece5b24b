import { expect } from 'vitest';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../test/verifies.js';
import { convertTexts } from './convert-texts.js';

const types: [type: unknown, text: string, value: Json][] = [
  ['integer', '5', 5],
  ['integer', '-12', -12],
  [['integer', 'null'], '5', 5],
  ['number', '3.25', 3.25],
  ['number', '3.50', 3.5],
  ['number', '7.0', 7],
  ['boolean', 'true', true],
  ['boolean', 'false', false],
  ['object', '{"a":"b"}', { a: 'b' }],
  ['array', '["5"]', ['5']],
];
const kept: [type: unknown, text: string][] = [
  ...['', ' 5', '5.0', '05', '+5', '1e3', '-0', '0x5', '9007199254740993', 'abc', 'NaN', 'null'].map(
    (text) => ['integer', text] as [unknown, string],
  ),
  ...['', '.5', '1e400', '0.1000000000000000055', 'Infinity', '-0', '1,5'].map(
    (text) => ['number', text] as [unknown, string],
  ),
  ...['', 'True', 'yes', '1'].map((text) => ['boolean', text] as [unknown, string]),
  ['object', '[]'],
  ['object', 'null'],
  ['object', '{"a"'],
  ['array', '{}'],
  ['array', 'a,b'],
  ['string', '5'],
  ['null', 'null'],
  [['integer', 'string'], '5'],
  [['integer', 'boolean'], '5'],
  [undefined, '5'],
];

const places: [name: string, wrap: (schema: JsonObject) => JsonObject, put: (value: Json) => Json][] = [
  ['a property', (schema) => ({ properties: { a: schema } }), (value) => ({ a: value })],
  ['items', (schema) => ({ properties: { l: { items: schema } } }), (value) => ({ l: [value, 1] })],
  [
    'one of several items',
    (schema) => ({ properties: { l: { prefixItems: [{}, schema] } } }),
    (value) => ({ l: ['1', value] }),
  ],
  ['other properties', (schema) => ({ additionalProperties: schema }), (value) => ({ z: value })],
  [
    'a reference',
    (schema) => ({ properties: { a: { $ref: '#/$defs/s' } }, $defs: { s: schema } }),
    (value) => ({ a: value }),
  ],
  ['or nothing', (schema) => ({ properties: { a: { anyOf: [schema, { type: 'null' }] } } }), (value) => ({ a: value })],
  ['all of', (schema) => ({ allOf: [{ properties: { a: schema } }, true] }), (value) => ({ a: value })],
];

for (const [name, wrap, put] of places) {
  verifies('tools.arguments-converted', `${name}: what one type names, and what can be written back`, () => {
    for (const [type, text, value] of types) {
      expect(convertTexts(put(text), wrap({ type: type as Json })), `${String(type)} ${text}`).toEqual(put(value));
    }
    for (const [type, text] of kept) {
      const given = put(text);
      expect(
        convertTexts(given, wrap(type === undefined ? {} : { type: type as Json })),
        `${String(type)} ${text}`,
      ).toBe(given);
    }
  });
}

verifies('tools.arguments-converted', 'within what was text itself; a choice that admits text is left alone', () => {
  const schema: JsonObject = {
    properties: {
      where: {
        type: 'object',
        properties: { limit: { type: 'integer' }, tags: { type: 'array', items: { type: 'boolean' } } },
      },
      id: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
      any: { anyOf: [{ type: 'integer' }, {}] },
      size: { type: 'integer', anyOf: [{ minimum: 5 }, { maximum: 1 }] },
    },
  };
  const given = { where: '{"limit":"5","tags":"[\\"true\\"]"}', id: '5', any: '5', size: '6', other: '7' };
  const right = { where: { limit: 5, tags: [true] }, id: '5', any: '5', size: 6, other: '7' };
  expect(convertTexts(given, schema)).toEqual(right);
  expect(convertTexts({ a: { b: '5' } }, { properties: { a: { $ref: '#' }, b: { type: 'integer' } } })).toEqual({
    a: { b: 5 },
  });
});
