// Translates the tools of widely used servers for every family: the family's rules accept the schema, all valid values
// stay valid, and lost keywords are reported.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { written, type Kind } from '../../../test/fixtures/read-family.js';
import { instancesOf } from '../../../test/support/schema-instances.js';
import { checkDeclared } from '../../../test/support/strict-tools.js';
import { verifies } from '../../../test/verifies.js';
import { toInputSchema } from './anthropic/to-anthropic-schema.js';
import { toGeminiSchema } from './gemini/to-gemini-schema.js';
import { toOpenAiSchema } from './openai/to-openai-schema.js';
import { followRef, list } from './conversation/schema-parts.js';

const root = fileURLToPath(new URL('../../../test/fixtures/tool-definitions/', import.meta.url));

interface Recorded {
  provenance: string;
  tools: { name: string; description?: string; inputSchema: JsonObject }[];
}

const recorded = readdirSync(root).map((file): [string, ToolDefinition[]] => {
  const { tools } = JSON.parse(readFileSync(`${root}${file}`, 'utf8')) as Recorded;
  return [file.replace('.json', ''), tools.map(({ inputSchema, ...tool }) => ({ ...tool, parameters: inputSchema }))];
});

const ajv = new Ajv2020({ strict: false, logger: false });
addFormats.default(ajv);

/** Validators by schema. The original's version of JSON Schema does not matter for these tools. */
function acceptor(schema: JsonObject): (value: Json) => boolean {
  const { $schema: _, ...own } = schema;
  const validate = ajv.compile(own);
  return (value) => validate(structuredClone(value));
}

/** The schema that each family gets. */
const compiled = (schema: JsonObject): [string, JsonObject][] => [
  ['OpenAI', toOpenAiSchema(schema)],
  ['Anthropic', toInputSchema(schema)],
  ['Gemini', toGeminiSchema(schema).schema],
];

describe.each(recorded)('%s', (server, tools) => {
  for (const [kind, model] of [
    ['openai', 'gpt-5.2'],
    ['responses', 'gpt-5.5'],
    ['anthropic', 'claude-opus-5'],
    ['gemini', 'gemini-3-pro'],
  ] satisfies [Kind, string][]) {
    verifies('models.families.schemas', `${server}: ${model} takes them all`, () => {
      checkDeclared(kind, written(kind, { tools, model }) as JsonObject, tools.length);
    });
  }

  verifies('models.families.schemas', `${server}: what a tool takes, its model may say`, () => {
    for (const { name, parameters = {} } of tools) {
      const original = acceptor(parameters);
      const families = compiled(parameters).map(([family, schema]) => [family, acceptor(schema)] as const);
      let tried = 0;
      fc.assert(
        fc.property(instancesOf(parameters, parameters), (value) => {
          if (!original(value)) return;
          tried += 1;
          for (const [family, accepts] of families) expect(accepts(value), `${name}, ${family}`).toBe(true);
        }),
        { numRuns: 15 },
      );
      expect(tried, `${name}: values that prove something`).toBeGreaterThan(0);
    }
  });

  verifies('models.families.schemas', `${server}: what is not said is reported`, () => {
    for (const { name, parameters = {} } of tools) {
      const given = keywordsOf(parameters);
      const { schema, lost } = toGeminiSchema(parameters);
      for (const keyword of lost) expect(given, `${name}: nothing is reported that was not there`).toContain(keyword);
      const said = keywordsOf(schema);
      const silent = [...given].filter((keyword) => !said.has(keyword) && !lost.includes(keyword));
      expect(
        silent.filter((keyword) => !inOtherWords.has(keyword)),
        name,
      ).toEqual([]);
    }
  });
});

/** Keywords that Gemini knows under another name, and those that restrict nothing. */
const inOtherWords = new Set(
  'const oneOf allOf exclusiveMinimum exclusiveMaximum $ref $schema default examples'.split(' '),
);

/** The keywords that restrict something, with references resolved. */
function keywordsOf(node: Json, root: Json = node, found = new Set<string>(), seen = new Set<Json>()): Set<string> {
  if (!isJsonObject(node)) return found;
  const target = isJsonObject(root) ? followRef(node, root) : undefined;
  if (target !== undefined) {
    const ref = node['$ref']!;
    if (!seen.has(ref)) keywordsOf(target, root, found.add('$ref'), new Set([...seen, ref]));
    return found;
  }
  for (const [key, value] of Object.entries(node)) {
    const isMap = key === 'properties' && isJsonObject(value);
    const isChoice = ['anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(key);
    const members = isMap ? Object.values(value) : isChoice ? list(value) : [value];
    // An alternative with null becomes `nullable`.
    const real = isChoice ? members.filter((one) => !isJsonObject(one) || one['type'] !== 'null') : members;
    const isEmpty = isMap ? members.length === 0 : isChoice ? real.length < 2 : saysNothing(key, value);
    if (!isEmpty && key !== '$defs' && key !== 'definitions') found.add(key);
    // Everything below a lost keyword is lost.
    if (isMap || isChoice || key === 'items') for (const member of members) keywordsOf(member, root, found, seen);
  }
  return found;
}

const saysNothing = (key: string, value: Json) =>
  (key === 'required' && list(value).length === 0) ||
  (key === 'additionalProperties' &&
    (typeof value === 'boolean' || (isJsonObject(value) && Object.keys(value).length === 0)));
