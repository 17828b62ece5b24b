import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect } from 'vitest';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../../test/verifies.js';
import { toInputSchema } from './anthropic/to-anthropic-schema.js';
import { toGeminiSchema } from './gemini/to-gemini-schema.js';
import { toOpenAiSchema } from './openai/to-openai-schema.js';

interface Pair {
  schema: JsonObject;
  /** Satisfies the schema. */
  value: Json;
}

const text = fc.string({ maxLength: 6 }).map((value): Pair => ({ schema: { type: 'string' }, value }));
const bounded = fc.tuple(fc.string({ minLength: 1, maxLength: 6 }), fc.nat(3)).map(([value, more]): Pair => ({
  schema: { type: 'string', maxLength: 6 + more, format: 'uri-ish', 'x-own': 1 },
  value,
}));
const whole = fc
  .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 }))
  .map(([value, room]): Pair => ({
    schema: { type: 'integer', exclusiveMinimum: value - room, maximum: value + room, multipleOf: 1 },
    value,
  }));
const decimal = fc.double({ min: -9, max: 9, noNaN: true }).map((value): Pair => ({
  schema: { type: 'number', exclusiveMinimum: value - 1, exclusiveMaximum: value + 1 },
  value,
}));
const chosen = fc
  .oneof(fc.string({ maxLength: 3 }), fc.integer(), fc.boolean(), fc.constant(null))
  .chain((value) =>
    fc.constantFrom<Pair>(
      { schema: { const: value }, value },
      { schema: { enum: [value, 'other', 7] }, value },
      { schema: { enum: [value] }, value },
    ),
  );

const { pair } = fc.letrec<{ pair: Pair }>((tie) => ({
  pair: fc.oneof(
    { maxDepth: 3 },
    text,
    bounded,
    whole,
    decimal,
    chosen,
    tie('pair').map(({ schema, value }): Pair => ({ schema: { anyOf: [{ type: 'null' }, schema] }, value })),
    fc.tuple(tie('pair'), tie('pair')).map(([one, other]): Pair => ({
      schema: { description: 'd', oneOf: [other.schema, one.schema] },
      value: one.value,
    })),
    fc.array(tie('pair'), { minLength: 1, maxLength: 3 }).map((pairs): Pair => ({
      schema: { type: ['array', 'null'], items: { anyOf: pairs.map(({ schema }) => schema) }, uniqueItems: false },
      value: pairs.map(({ value }) => value),
    })),
    fc.array(tie('pair'), { minLength: 1, maxLength: 3 }).map((pairs): Pair => ({
      schema: { type: 'array', prefixItems: pairs.map(({ schema }) => schema) },
      value: pairs.map(({ value }) => value),
    })),
    objects(tie('pair')),
    fc.tuple(objects(tie('pair')), objects(tie('pair'))).map(([left, right]): Pair => ({
      schema: { allOf: [open(left.schema), open(right.schema)] },
      value: { ...(left.value as JsonObject), ...(right.value as JsonObject) },
    })),
  ),
}));

function objects(members: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> {
  const name = fc.constantFrom('a', 'b', 'first name', '__proto__', 'constructor', '$ref-like');
  return fc.dictionary(name, members, { maxKeys: 3 }).map((pairs) => ({
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(pairs).map(([key, { schema }]) => [key, schema])),
      required: Object.keys(pairs).slice(0, 1),
      additionalProperties: false,
    },
    value: Object.fromEntries(Object.entries(pairs).map(([key, { value }]) => [key, value])),
  }));
}

const open = (schema: JsonObject): JsonObject => ({ ...schema, additionalProperties: true });

/** Arguments of a tool, one of them by reference. */
const tools = fc.tuple(pair, pair).map(([direct, referred]): Pair => ({
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { direct: direct.schema, referred: { $ref: '#/$defs/it' } },
    required: ['direct'],
    $defs: { it: referred.schema },
  },
  value: { direct: direct.value, referred: referred.value },
}));

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
const accepts = (schema: JsonObject, value: Json) => ajv.compile(schema)(structuredClone(value));

verifies('models.families.schemas', 'a compiled schema accepts what the original accepts', () => {
  fc.assert(
    fc.property(tools, ({ schema, value }) => {
      fc.pre(accepts(schema, value));
      expect(accepts(toGeminiSchema(schema).schema, value), 'Gemini').toBe(true);
      expect(accepts(toInputSchema(schema), value), 'Anthropic').toBe(true);
      expect(accepts(toOpenAiSchema(schema), value), 'OpenAI').toBe(true);
    }),
    { numRuns: 120 },
  );
});

const geminiKeywords =
  /^(?:type|description|title|format|\$ref|\$defs|properties|additionalProperties|required|items|prefixItems|enum|anyOf|(?:min|max)(?:imum|Items))$/;

function keywordsOf(schema: Json): string[] {
  if (!isJsonObject(schema)) return [];
  const { items, additionalProperties, anyOf, prefixItems, properties, $defs } = schema;
  const maps = [properties ?? {}, $defs ?? {}].flatMap((map) => Object.values(map as JsonObject));
  const nested = [items, additionalProperties, anyOf, prefixItems].flat().filter((one) => one !== undefined);
  return [...Object.keys(schema), ...[...nested, ...maps].flatMap(keywordsOf)];
}

verifies('models.families.schemas', 'nothing but the keywords that Gemini has', () => {
  fc.assert(
    fc.property(tools, ({ schema }) => {
      for (const keyword of keywordsOf(toGeminiSchema(schema).schema)) expect(keyword).toMatch(geminiKeywords);
    }),
    { numRuns: 100 },
  );
});

const compiled = (property: JsonObject, more: JsonObject = {}) => {
  const { schema, lost } = toGeminiSchema({ type: 'object', properties: { p: property }, ...more });
  return { p: (schema['properties'] as JsonObject)['p'], lost };
};

const examples: [string, JsonObject, unknown, string[]][] = [
  ['a constant', { const: 5 }, { enum: [5] }, []],
  ['nullable', { type: ['string', 'null'] }, { type: ['string', 'null'] }, []],
  ['an exclusive bound', { exclusiveMinimum: 0 }, { minimum: 0 }, []],
  ['exclusive bounds of whole numbers', { type: 'integer', exclusiveMinimum: 0 }, { type: 'integer', minimum: 1 }, []],
  [
    'unknown keywords',
    { type: 'string', pattern: 'a', contentEncoding: 'x', examples: [1] },
    { type: 'string' },
    ['contentEncoding', 'pattern'],
  ],
  ['words beside a reference', { $ref: '#/$defs/x', description: 'd' }, { $ref: '#/$defs/x' }, []],
  ['a reference to nothing', { $ref: '#/properties/none' }, {}, ['$ref']],
];

for (const [name, schema, expected, lost] of examples) {
  verifies('models.families.schemas', name, () => expect(compiled(schema)).toEqual({ p: expected, lost }));
}

verifies('models.families.schemas', 'references to definitions stay, others are inlined within bounds', () => {
  const tree = { type: 'object', properties: { next: { $ref: '#/definitions/tree' } } };
  expect(toGeminiSchema({ ...tree, definitions: { tree } }).schema).toEqual({
    type: 'object',
    properties: { next: { $ref: '#/$defs/tree' } },
    $defs: { tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' } } } },
  });
  const text = { type: 'string' };
  expect(compiled({ $ref: '#/properties/q' }, { properties: { q: text, p: { $ref: '#/properties/q' } } }).p).toEqual(
    text,
  );
  const bomb: JsonObject = { l0: text };
  for (let level = 1; level < 20; level += 1) {
    const ref = { $ref: `#/properties/l${level - 1}` };
    bomb[`l${level}`] = { type: 'object', properties: { a: ref, b: ref, c: ref } };
  }
  expect(JSON.stringify(toGeminiSchema({ type: 'object', properties: bomb }).schema).length).toBeLessThan(100_000);
  expect(toGeminiSchema({ $ref: '#' }).lost).toEqual(['$ref']);
});
