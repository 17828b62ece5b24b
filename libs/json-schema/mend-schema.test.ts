import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { compileSchema } from './compile-schema.js';
import { mendSchema } from './mend-schema.js';

const bounds = { maxBytes: 65_536, maxDepth: 32, deadlineMs: 100 };

function mended(schema: object): JsonObject {
  const read = mendSchema(schema as JsonObject);
  if ('problem' in read) throw new Error(read.problem);
  return read.schema;
}

/** As the only property of an object. */
const ofProperty = (schema: unknown) => mended({ type: 'object', properties: { a: schema } })['properties'];

const properties: [name: string, given: unknown, right: unknown][] = [
  ['an excluded minimum', { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
  ['an excluded maximum', { maximum: 9, exclusiveMaximum: true }, { exclusiveMaximum: 9 }],
  ['an included bound', { minimum: 1, exclusiveMinimum: false, maximum: 9 }, { minimum: 1, maximum: 9 }],
  ['an excluded bound that there is not', { exclusiveMinimum: true }, {}],
  ['numbers as text', { minimum: '1', maxLength: '20' }, { minimum: 1, maxLength: 20 }],
  ['any type', { type: 'any', description: 'A' }, { description: 'A' }],
  ['a type of no name', { type: '' }, {}],
  ['types of other languages', { type: ['STRING', 'int'] }, { type: ['string', 'integer'] }],
  ['a schema that is a type', 'boolean', { type: 'boolean' }],
  ['an empty object of PHP', [], {}],
  ['null', null, {}],
  ['null members', { type: 'string', enum: null, format: null, default: null }, { type: 'string', default: null }],
  [
    'a list of items',
    { type: 'array', items: [{ type: 'any' }, {}], additionalItems: false },
    { type: 'array', prefixItems: [{}, {}], items: false },
  ],
  ['an empty list of items', { type: 'array', items: [] }, { type: 'array' }],
  ['a nullable type', { type: 'string', nullable: true, enum: ['a'] }, { type: ['string', 'null'], enum: ['a', null] }],
  ['no nullable type', { type: 'string', nullable: false }, { type: 'string' }],
  ['a nullable choice', { anyOf: [{}], nullable: true }, { anyOf: [{}, { type: 'null' }] }],
  ['truth as text', { type: 'object', additionalProperties: 'false' }, { type: 'object', additionalProperties: false }],
  ['an id', { id: 'http://example.com/a', type: 'string' }, { type: 'string' }],
  ['a value twice', { enum: ['a', 'a', 'b'] }, { enum: ['a', 'b'] }],
  ['no values, no choices', { enum: [], anyOf: [] }, {}],
  ['an empty map of PHP', { type: 'object', properties: [] }, { type: 'object', properties: {} }],
  ['names of properties as one', { required: 'b' }, { required: ['b'] }],
  ['names of properties that are none', { required: ['b', null, 'b', 1] }, { required: ['b'] }],
];

for (const [name, given, right] of properties) {
  verifies('tools.schemas-mended', name, () => {
    expect(ofProperty(given)).toEqual({ a: right });
    // At any depth, and in every place of a schema.
    const deep = mended({ $defs: { d: { anyOf: [{ type: 'array', items: { properties: { a: given } } }] } } });
    expect(deep).toEqual({ $defs: { d: { anyOf: [{ type: 'array', items: { properties: { a: right } } }] } } });
    compileSchema(deep, bounds);
  });
}

verifies('tools.schemas-mended', 'a property that says that it is required', () => {
  const schema = {
    type: 'object',
    required: ['c'],
    properties: { a: { type: 'string', required: true }, b: { required: false }, c: {}, required: { type: 'boolean' } },
  };
  const right = {
    type: 'object',
    required: ['c', 'a'],
    properties: { a: { type: 'string' }, b: {}, c: {}, required: { type: 'boolean' } },
  };
  expect(mended(schema)).toEqual(right);
  expect(mended({ ...schema, required: true })).toEqual({ ...right, required: ['a'] });
  const check = (value: object) => compileSchema(mended(schema), bounds).check(value, 10);
  expect([check({ a: 'x', c: 1 }), check({ c: 1 })]).toEqual([undefined, 'a is required']);
});

verifies('tools.schemas-mended', 'ids that references need, and a draft that is not that of the mended schema', () => {
  const draft = 'http://json-schema.org/draft-04/schema#';
  const schema = {
    $schema: draft,
    id: 'urn:x:a',
    properties: { a: { $ref: 'urn:x:b' }, b: { id: 'urn:x:b', type: 'integer', minimum: 0, exclusiveMinimum: true } },
  };
  const made = mended(schema);
  expect(made).toMatchObject({ $id: 'urn:x:a', properties: { b: { $id: 'urn:x:b', exclusiveMinimum: 0 } } });
  expect(made['$schema']).toBeUndefined();
  expect(compileSchema(made, bounds).check({ a: 0 }, 5)).toBe('a must be > 0');
});

verifies('tools.schemas-mended', 'what needs nothing is the same object, whatever its properties are called', () => {
  const plain = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      id: { type: 'string', default: null, const: null },
      items: { type: 'array', items: { enum: [null, 1] }, minItems: 0 },
      nullable: { $ref: '#/definitions/x~1y' },
    },
    definitions: { 'x/y': true },
    required: [],
    examples: [{ type: 'any', required: true }],
    additionalProperties: false,
  };
  expect(mended(plain)).toBe(plain);
});

const unmendable: [name: string, schema: object, problem: string][] = [
  ['an unknown type', { properties: { 'a/b': { type: 'widget' } } }, '#/properties/a~1b has the unknown type "widget"'],
  ['no arguments', { type: 'string' }, '# is not the schema of an object'],
  ['a number for a schema', { properties: { a: 5 } }, '#/properties/a is not a schema'],
  [
    'a bound that is none',
    { properties: { a: { minimum: 'low' } } },
    '#/properties/a has a minimum that is not a number',
  ],
  ['required of what', { required: { a: true } }, '# has a required that is not a list of names'],
  ['a pattern that is none', { properties: { a: { pattern: 1 } } }, '#/properties/a has a pattern that is not a text'],
  ['a reference into nothing', { $ref: '#/$defs/a' }, 'refers to #/$defs/a, which is not in it'],
  ['a reference elsewhere', { properties: { a: { $ref: 'http://x/y' } } }, 'refers to http://x/y, which is not in it'],
];

for (const [name, schema, problem] of unmendable) {
  verifies('tools.schemas-mended', `refused: ${name}`, () => {
    expect(mendSchema(schema as JsonObject)).toEqual({ problem });
  });
}
