import { expect } from 'vitest';
import { compileSchema } from '#libs/json-schema/compile-schema.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { verifies } from '../../../../test/verifies.js';
import { readDefinitions, readStored } from '../catalog/read-definitions.js';
import { readApi } from './read-api.js';

const limits = { maxBytes: 64 * 1024, maxDepth: 32 };

function schemaOf(operation: object, more: object = {}): JsonObject {
  const paths = { '/it': { post: { operationId: 'it', ...operation } } };
  const text = JSON.stringify({ openapi: '3.0.3', paths, ...more });
  const { tools } = readApi(text, { baseUrl: 'https://api.example.com', setHeaders: [], limits });
  return tools[0]!.definition.inputSchema;
}
const bodyOf = (schema: object, more: object = {}) => {
  const made = schemaOf({ requestBody: { content: { 'application/json': { schema } } } }, more);
  return (made['properties'] as JsonObject)['body'];
};

verifies('openapi.schemas', 'what only documents and answers need is left out, and defaults are words', async () => {
  const schema = {
    type: 'object',
    title: 'Pet',
    discriminator: { propertyName: 'kind' },
    required: ['id', 'name', 'gone'],
    properties: {
      id: { type: 'integer', readOnly: true },
      name: { type: 'string', nullable: true, example: 'Rex', 'x-order': 1 },
      private: { type: 'boolean', default: false, description: 'Who sees it.' },
      age: { type: 'integer', minimum: 0, exclusiveMinimum: true },
    },
    example: { name: 'Rex' },
  };
  const body = bodyOf(schema);
  expect(body).toEqual({
    type: 'object',
    required: ['name', 'gone'],
    properties: {
      name: { type: 'string', nullable: true, examples: ['Rex'] },
      private: { type: 'boolean', description: 'Who sees it. Default: false.' },
      age: { type: 'integer', minimum: 0, exclusiveMinimum: true },
    },
  });
  const inputSchema = { type: 'object', properties: { body: body! } };
  const { definitions } = await readDefinitions([{ name: 'it', inputSchema }], limits);
  const compiled = compileSchema(readStored(definitions[0]!.definition).inputSchema, { ...limits, deadlineMs: 500 });
  const given = { body: { name: null, gone: 1, age: 1 } };
  expect(compiled.check(given, 20)).toBeUndefined();
  expect(given).toEqual({ body: { name: null, gone: 1, age: 1 } });
  expect(compiled.check({ body: { name: 'x', gone: 1, age: 0 } }, 20)).toContain('age');
});

verifies('openapi.schemas', 'references are written out, recursion is in $defs', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } } };
  const schemas = {
    Node: node,
    Name: { type: 'string' },
    Pet: { properties: { name: { $ref: '#/components/schemas/Name' } } },
  };
  expect(bodyOf({ $ref: '#/components/schemas/Pet' }, { components: { schemas } })).toEqual({
    properties: { name: { type: 'string' } },
  });
  const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } } };
  const schema = schemaOf({ requestBody: body }, { components: { schemas } });
  expect(schema['$defs']).toEqual({ Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } });
  compileSchema(schema, { ...limits, deadlineMs: 500 });
  expect(bodyOf({ $ref: '#/components/schemas/Lost' })).toEqual({});
});

verifies('openapi.schemas', 'larger ones share parts, then lose words, then depth', () => {
  const words = 'word '.repeat(60);
  const wide = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`m${at}`, { type: 'string', description: words }]),
  );
  const part = { type: 'object', properties: wide };
  const ref = { $ref: '#/components/schemas/Part' };
  const components = { schemas: { Part: part } };
  const shared = bodyOf({ properties: { a: ref, b: ref } }, { components });
  expect(shared).toMatchObject({ properties: { a: { $ref: '#/$defs/Part' }, b: { $ref: '#/$defs/Part' } } });
  const large = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`p${at}`, part]));
  const without = schemaOf({ requestBody: { content: { 'application/json': { schema: { properties: large } } } } });
  expect(JSON.stringify(without)).not.toContain('word');
  expect(JSON.stringify(without)).toContain('"m39":{"type":"string"}');
  let deep: object = { type: 'string' };
  for (let level = 0; level < 60; level += 1) deep = { type: 'object', properties: { inner: deep } };
  const cut = schemaOf({ requestBody: { content: { 'application/json': { schema: deep } } } });
  compileSchema(cut, { ...limits, deadlineMs: 500 });
  expect(JSON.stringify(cut)).toContain('"inner":{}');
  const hopeless = { parameters: [{ name: 'x', in: 'query', schema: { enum: [words.repeat(300)] } }] };
  expect(() => schemaOf(hopeless)).toThrow('limits.tool_schema_bytes');
});
