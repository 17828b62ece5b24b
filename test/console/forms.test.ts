// What a form makes of a JSON schema: its fields, its first value, and what is wrong with a value.
import { expect } from 'vitest';
import { problemsOf } from '../../apps/console/widgets/forms/check-value.js';
import { firstValue, kindOf, resolved, type Schema } from '../../apps/console/widgets/forms/form-schema.js';
import { widgetStrings } from '../../apps/console/widgets/strings.js';
import { verifies } from '../verifies.js';

const texts = widgetStrings.en;
const schema: Schema = {
  type: 'object',
  required: ['name', 'size', 'place'],
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 5 },
    size: { type: 'integer', minimum: 1, exclusiveMaximum: 10, default: 3 },
    kind: { enum: ['a', 'b'] },
    level: {
      oneOf: [
        { const: 1, title: 'low' },
        { const: 2, title: 'high' },
      ],
    },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    place: { $ref: '#/$defs/place' },
    on: { type: 'boolean', default: true },
  },
  $defs: { place: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } } },
};
const kind = (name: string, isSecret = false) => kindOf(resolved(schema.properties![name]!, schema), isSecret, 1).kind;

verifies('console.forms', 'each type has its field, what has none is JSON, a schema within itself ends', () => {
  const names = ['name', 'size', 'kind', 'level', 'note', 'either', 'tags', 'place', 'on'];
  expect(names.map((name) => kind(name))).toEqual([
    'text',
    'integer',
    'choice',
    'choice',
    'text',
    'json',
    'list',
    'object',
    'boolean',
  ]);
  expect(kind('name', true)).toBe('secret');
  const endless: Schema = {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] } },
  };
  expect(JSON.stringify(firstValue(endless)).length).toBeLessThan(200);
});

verifies('console.forms', 'the first value has the defaults and what must be there', () => {
  expect(firstValue(schema)).toEqual({ size: 3, place: {}, on: true });
});

verifies('console.forms', 'what is wrong is said at its place', () => {
  const value = { name: 'a', size: 10, kind: 'c', tags: ['x', 'y', 'z'], place: {}, on: 'yes' };
  expect(Object.fromEntries(problemsOf(schema, value, texts))).toEqual({
    name: texts.isTooShort(2),
    size: texts.isBelow(10),
    kind: texts.isNoChoice,
    tags: texts.hasTooMany(2),
    'place.city': texts.isMissing,
    on: texts.isOther,
  });
  expect(problemsOf(schema, { name: 'abc', size: 3, level: 2, place: { city: 'x' } }, texts).size).toBe(0);
});
