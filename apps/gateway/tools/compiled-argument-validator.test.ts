import { expect, test } from 'vitest';
import type { LogFields } from '#libs/logging/logger.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { verifies } from '../../../test/verifies.js';
import { CompiledArgumentValidator } from './compiled-argument-validator.js';

const bounds = { maxArgumentBytes: 1024 * 1024, maxSchemaBytes: 64 * 1024, maxSchemaDepth: 32 };

let hashes = 0;
const tool = (inputSchema: JsonObject): CatalogTool => ({
  server: 'files',
  tool: 'read_file',
  name: 'read_file',
  description: '',
  inputSchema,
  annotations: {},
  definitionHash: `hash-${(hashes += 1)}`,
  available: true,
  safe: false,
  readOnly: false,
  timeoutMs: 1_000,
  maxTimeoutMs: 1_000,
});

const validate = (schema: JsonObject, text: string, logger = silentLogger) =>
  new CompiledArgumentValidator(bounds, logger).validate(tool(schema), text);

const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

verifies('tools.arguments-validated', 'what is wrong is named by path and expectation', async () => {
  const cases: [JsonObject, string, string][] = [
    [path, '{}', 'path is required'],
    [path, '{"path":{"toString":1}}', 'path must be string, got object'],
    [{ type: 'object', required: ['valueOf'] }, '{}', 'valueOf is required'],
    [path, '"text"', 'must be a JSON object'],
    [path, '[1]', 'must be a JSON object'],
    [path, 'not json', 'not valid JSON'],
    [path, '{"', 'not valid JSON'],
    [path, '{"path":"x","n":1e400}', 'out of range'],
    [{ ...path, additionalProperties: false }, '{"path":"x","depth":1}', 'depth is not a known property; known: path'],
    [
      { type: 'object', properties: { list: { type: 'array', items: { enum: ['a', 'b'] } } } },
      '{"list":["a","c"]}',
      'list[1] must be one of ["a","b"]',
    ],
    [path, `{"path":${'['.repeat(3_000)}${']'.repeat(3_000)}}`, 'nested deeper'],
    [path, JSON.stringify({ path: 'x'.repeat(2 * 1024 * 1024) }), 'the limit is 1048576'],
  ];
  for (const [schema, text, problem] of cases) {
    const result = validate(schema, text);
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining(problem) as string });
    expect(JSON.stringify(result)).toContain('Invalid arguments for read_file: ');
  }
});

verifies('tools.arguments-validated', 'what every object inherits is no argument', async () => {
  const named = { type: 'object', properties: { constructor: { type: 'string' }, toString: { enum: ['a'] } } };
  expect(validate(named, '{}')).toMatchObject({ ok: true });
  expect(validate(named, '{"constructor":"Ferrari"}')).toMatchObject({ ok: true });
});

verifies('tools.arguments-validated', 'drafts 2020-12 and 7, defaults, the last of duplicate keys', async () => {
  const tuple = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' };
  const modern = { ...tuple, properties: { pair: { prefixItems: [{ type: 'string' }], items: false } } };
  expect(validate(modern, '{"pair":["a",1]}')).toMatchObject({ ok: false });
  const seven = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { pair: { items: [{ type: 'string' }], additionalItems: false }, n: { $ref: '#/definitions/n' } },
    definitions: { n: { type: 'integer' } },
  };
  expect(validate(seven, '{"pair":["a",1]}')).toMatchObject({ ok: false });
  expect(validate(seven, '{"n":"one"}')).toMatchObject({ ok: false });
  const defaults = { type: 'object', properties: { offset_ms: { type: 'number', default: 0 } } };
  expect(validate(defaults, '')).toEqual({ ok: true, arguments: { offset_ms: 0 } });
  expect(validate(path, '{"path":"a","path":"b"}')).toEqual({ ok: true, arguments: { path: 'b' } });
});

test('keys that mean something to JavaScript mean nothing here', async () => {
  const result = validate(
    { type: 'object' },
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":{"\\u005f_proto__":1}}',
  );
  expect(result).toEqual({ ok: true, arguments: { constructor: { prototype: { polluted: 1 } }, a: {} } });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

verifies('tools.hostile-schemas-bounded', 'patterns, references and sizes cost no time', async () => {
  const startedAt = performance.now();
  const pattern = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  expect(validate(pattern, JSON.stringify({ a: `${'a'.repeat(28)}!` }))).toMatchObject({ ok: false });
  expect(validate(pattern, JSON.stringify({ a: 'aaaa' }))).toMatchObject({ ok: true });

  const definitions: JsonObject = { d40: { type: 'string' } };
  for (let at = 0; at < 40; at += 1) {
    definitions[`d${at}`] = { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] };
  }
  const validator = new CompiledArgumentValidator(bounds, silentLogger);
  const exponential = tool({ type: 'object', $defs: definitions, properties: { x: { $ref: '#/$defs/d0' } } });
  for (let strike = 0; strike < 3; strike += 1) {
    expect(validator.validate(exponential, '{"x":1}')).toMatchObject({ ok: false });
  }
  const second = performance.now();
  expect(validator.validate(exponential, '{"x":1}')).toMatchObject({ ok: false });
  expect(performance.now() - second).toBeLessThan(20);

  const unique = { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } };
  const many = { a: Array.from({ length: 30_000 }, (_none, at) => ({ at })) };
  validate(unique, JSON.stringify(many));
  let deep: JsonObject = { type: 'string' };
  for (let at = 0; at < 3_000; at += 1) deep = { type: 'object', properties: { a: deep } };
  expect(validate(deep, '{}')).toMatchObject({ ok: false, message: expect.stringContaining('nested') as string });
  const large = { type: 'object', description: 'x'.repeat(70_000) };
  expect(validate(large, '{}')).toMatchObject({ ok: false });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

test('a self-reference is followed, a remote one is not', async () => {
  const tree = { type: 'object', properties: { child: { $ref: '#' }, n: { type: 'number' } } };
  expect(validate(tree, '{"child":{"child":{"n":1}}}')).toMatchObject({ ok: true });
  expect(validate(tree, '{"child":{"child":{"n":"x"}}}')).toMatchObject({ ok: false });
  const remote = { type: 'object', properties: { a: { $ref: 'http://169.254.169.254/' } } };
  expect(validate(remote, '{"a":1}')).toMatchObject({ ok: false });
});

test('a pattern that needs more than linear time is left out and reported', async () => {
  const warnings: LogFields[] = [];
  const logger = { ...silentLogger, warn: (fields: LogFields) => void warnings.push(fields) };
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(?!b)' }, n: { type: 'number' } } };
  expect(validate(schema, '{"a":"b","n":1}', logger)).toMatchObject({ ok: true });
  expect(warnings[0]?.metadata).toMatchObject({ patterns: ['^(?!b)'] });
  expect(validate(schema, '{"n":"x"}')).toMatchObject({ ok: false });
});

verifies('tools.arguments-converted', 'a model’s, all at once and within bounds; a program’s are refused', async () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 2 }, where: { type: 'object', default: {} }, s: { type: 'string' } },
    required: ['n'],
  };
  const validator = new CompiledArgumentValidator(bounds, silentLogger);
  const owner = tool(schema);
  const of = (text: string) => validator.validate(owner, text, 'model');
  expect(of('{"n":"5"}')).toEqual({ ok: true, arguments: { n: 5, where: {} }, sent: { n: '5', where: {} } });
  expect(of('{"n":5}')).toEqual({ ok: true, arguments: { n: 5, where: {} } });
  expect(of('"{\\"n\\":\\"5\\"}"')).toMatchObject({ ok: true, arguments: { n: 5 }, sent: { n: '5' } });
  expect(of('"{\\"n\\":5}"')).toMatchObject({ ok: true, arguments: { n: 5 }, sent: { n: 5 } });
  // What is wrong is said of what the model sent.
  for (const [text, problem] of [
    ['{"n":"1"}', 'n must be integer, got string'],
    ['{"n":"five"}', 'n must be integer, got string'],
    ['{"n":"5","s":5}', 'n must be integer, got string'],
    ['{"n":5,"s":5}', 's must be string, got number'],
    ['"[]"', 'must be a JSON object'],
    [JSON.stringify({ n: 5, where: '{"a":'.repeat(70) + '1' + '}'.repeat(70) }), 'where must be object, got string'],
    ['{"n":5,"where":"{\\"a\\":1e999}"}', 'where must be object, got string'],
  ] as const) {
    expect(of(text), text).toMatchObject({ ok: false, message: expect.stringContaining(problem) as string });
  }
  expect(validator.validate(owner, '{"n":"5"}')).toMatchObject({ ok: false });
  expect(validator.validate(owner, '"{}"')).toMatchObject({ ok: false });
});
