import fc from 'fast-check';
import { expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import { written } from '../../../../test/fixtures/read-family.js';
import { strictViolations } from '../../../../test/support/strict-violations.js';
import { verifies } from '../../../../test/verifies.js';
import { readMessageRequest } from '../../anthropic-api/read-message-request.js';

/** A strict tool's function as sent to the upstream. */
function sent(parameters: JsonObject, said: { strict?: boolean } = { strict: true }): JsonObject {
  const tool = { name: 'f', parameters, ...said };
  const [only] = written('openai', { tools: [tool] })['tools'] as { function: JsonObject }[];
  return only!.function;
}

const isAccepted = ({ strict, parameters }: JsonObject) =>
  strict === undefined || strictViolations(parameters as JsonObject).length === 0;

const text: JsonObject = { type: 'string' };
const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});
const members = (number: number, of: Json = text) =>
  closed(Object.fromEntries(Array.from({ length: number }, (_, at) => [`p${at}`, of])));
const nested = (levels: number): JsonObject => (levels === 1 ? closed({ a: text }) : closed({ a: nested(levels - 1) }));
const choice = (number: number, characters = 1): JsonObject =>
  closed({ a: { type: 'string', enum: Array.from({ length: number }, (_, at) => `${at}`.padStart(characters, 'x')) } });

const scalar = fc.constantFrom<JsonObject>(
  { type: 'string', format: 'date', pattern: '^2', description: 'd' },
  { type: ['string', 'null'], enum: ['a', null] },
  { type: 'integer', minimum: 1, exclusiveMaximum: 9, multipleOf: 2 },
  { type: 'number', const: 2 },
  { type: 'boolean', title: 't' },
  { $ref: '#/$defs/one' },
  { $ref: '#' },
);
/** Keywords, and places of keywords, that are outside the subset. */
const flaw = fc.constantFrom<JsonObject>(
  { additionalProperties: true },
  { additionalProperties: undefined } as unknown as JsonObject,
  { required: [] },
  { required: ['zz'] },
  { default: {} },
  { minLength: 1 },
  { allOf: [text] },
  { oneOf: [text] },
  { not: text },
  { patternProperties: {} },
  { $ref: '#/$defs/one' },
  { $ref: '#/$defs/none' },
  { format: 'uri' },
  { type: 'array' },
  { type: 'array', items: {} },
  { items: true, type: 'array' },
  { type: undefined } as unknown as JsonObject,
  { anyOf: [] },
  { anyOf: [{ description: 'no type' }] },
);
const { node } = fc.letrec<{ node: JsonObject }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    tie('node').map((items): JsonObject => ({ type: 'array', items, minItems: 1 })),
    fc
      .dictionary(fc.constantFrom('a', 'b', '__proto__', 'required'), tie('node'), { maxKeys: 3 })
      .map((given) => closed(given)),
    { weight: 1, arbitrary: fc.tuple(tie('node'), flaw).map(([schema, wrong]) => ({ ...schema, ...wrong })) },
  ),
}));
const schema = fc
  .tuple(fc.dictionary(fc.constantFrom('x', 'y', 'z'), node, { minKeys: 1 }), node, fc.option(flaw, { freq: 2 }))
  .map(([properties, one, wrong]) => closed(properties, { $defs: { one }, ...wrong }));
/** A copy through JSON. */
const wire = schema.map((given) => JSON.parse(JSON.stringify(given)) as JsonObject);

verifies('models.families.strict-schemas', 'any schema: strict where it obeys, else not said', () => {
  let strict = 0;
  let loose = 0;
  fc.assert(
    fc.property(wire, (given) => {
      const made = sent(given);
      expect(made['strict']).not.toBe(false);
      expect(isAccepted(made), JSON.stringify(made)).toBe(true);
      if (made['strict'] === true) strict += 1;
      else loose += 1;
      // Schemas in the subset stay strict.
      if (made['strict'] === undefined) expect(strictViolations(made['parameters'] as JsonObject)).not.toEqual([]);
    }),
    { numRuns: 1_000 },
  );
  expect(strict).toBeGreaterThan(100);
  expect(loose).toBeGreaterThan(100);
});

verifies('models.families.strict-schemas', 'the bounds, one below and one above', () => {
  const pairs: [string, JsonObject, JsonObject][] = [
    ['levels', nested(10), nested(11)],
    ['properties', members(5_000), members(5_001)],
    ['values', choice(1_000), choice(1_001)],
    ['characters of many values', choice(251, 59), choice(251, 60)],
    ['characters', closed({ ['a'.repeat(120_000)]: text }), closed({ ['a'.repeat(120_001)]: text })],
  ];
  for (const [name, within, beyond] of pairs) {
    expect(sent(within)['strict'], name).toBe(true);
    expect(sent(beyond)['strict'], name).toBeUndefined();
    expect(
      [within, beyond].map((one) => strictViolations(one).length),
      name,
    ).toEqual([0, expect.any(Number)]);
    expect(strictViolations(beyond), name).not.toEqual([]);
  }
});

verifies('models.families.strict-schemas', 'what the caller did not ask for is not said, and no is no', () => {
  expect(sent(closed({ a: text }), {})).not.toHaveProperty('strict');
  expect(sent(closed({ a: text }), { strict: false })['strict']).toBe(false);
  // A list without `items` gets items of any type, which strict schemas cannot express.
  expect(sent(closed({ a: { type: 'array' } }))).not.toHaveProperty('strict');
});

verifies(
  'models.families.strict-schemas',
  'a form of answer that Anthropic takes is strict only where OpenAI takes it',
  () => {
    const format = (given: JsonObject) => {
      const body = {
        max_tokens: 9,
        messages: [{ role: 'user', content: 'x' }],
        output_config: { format: { type: 'json_schema', schema: given } },
      };
      const { parameters } = readMessageRequest(body, configSchema.parse({}).limits);
      return (parameters['response_format'] as { json_schema: JsonObject }).json_schema['strict'];
    };
    expect(format(closed({ a: text }))).toBe(true);
    expect(format({ ...closed({ a: text, b: text }), required: ['a'] })).toBe(false);
  },
);
