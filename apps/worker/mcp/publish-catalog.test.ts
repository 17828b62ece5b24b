import { expect, test } from 'vitest';
import type { ConfiguredServer } from './configured-server.js';
import { readTools } from './publish-catalog.js';
import { verifies } from '../../../test/verifies.js';

const limits = { maxBytes: 64 * 1024, maxDepth: 32 };
const server = (given: Partial<ConfiguredServer> = {}): ConfiguredServer => ({
  name: 'files',
  order: 0,
  configHash: 'c',
  builtin: false,
  trusted: false,
  isolation: 'process',
  scope: 'shared',
  concurrency: 4,
  maxInstances: 1,
  idleTtlMs: 1_000,
  timeoutMs: 60_000,
  maxTimeoutMs: 600_000,
  tools: {},
  open: () => Promise.reject(new Error('not opened here')),
  ...given,
});
const definition = { name: 'read', description: 'Reads.', inputSchema: { type: 'object' } };

verifies('tools.listed-tolerantly', 'one bad definition costs that tool only', () => {
  let deep: object = {};
  for (let at = 0; at < 50; at += 1) deep = { properties: { a: deep } };
  const listed = [
    definition,
    { ...definition, name: 'schemaless', inputSchema: true },
    { ...definition, name: '' },
    { ...definition, name: 'x'.repeat(10_000) },
    { ...definition, name: 'deep', inputSchema: deep },
    { ...definition, name: 'large', inputSchema: { description: 'x'.repeat(70_000) } },
    { ...definition, description: 'a second one' },
    null,
    { ...definition, name: 'odd/name', annotations: { readOnlyHint: 'yes' }, description: null },
  ];
  const { tools, refused } = readTools(listed, server(), limits);
  expect(tools.map(({ tool, description }) => [tool, description])).toEqual([
    ['read', 'Reads.'],
    ['odd/name', ''],
  ]);
  expect(refused).toHaveLength(7);
});

verifies('tools.definition-hash', 'the order of members is no difference, everything else is', () => {
  const hash = (raw: unknown) => readTools([raw], server(), limits).tools[0]?.definitionHash;
  const { name, description, inputSchema } = definition;
  expect(hash({ inputSchema, description, name })).toBe(hash(definition));
  expect(hash({ ...definition, description: 'Reads. ' })).not.toBe(hash(definition));
  expect(hash(definition)).toMatch(/^[0-9a-f]{64}$/);
});

verifies('reliability.safe-is-earned', 'hints count where the server is believed', () => {
  const reading = { ...definition, annotations: { readOnlyHint: true } };
  const repeatable = { ...definition, annotations: { idempotentHint: true } };
  const read = (raw: unknown, given: Partial<ConfiguredServer>) => readTools([raw], server(given), limits).tools[0];
  expect(read(reading, {})).toMatchObject({ safe: false, readOnly: false });
  expect(read(reading, { builtin: true, trusted: true })).toMatchObject({ safe: true, readOnly: true });
  expect(read(repeatable, { trusted: true })).toMatchObject({ safe: true, readOnly: false });
  expect(read(repeatable, { builtin: true, trusted: true })).toMatchObject({ safe: false });
  expect(read(definition, { tools: { retry: { read: 'safe' } } })).toMatchObject({ safe: true, readOnly: false });
});

test('only what is included and not excluded is offered', () => {
  const names = (given: ConfiguredServer['tools']) =>
    readTools([definition, { ...definition, name: 'write' }], server({ tools: given }), limits).tools.map(
      (t) => t.tool,
    );
  expect(names({ include: ['read'] })).toEqual(['read']);
  expect(names({ exclude: ['read'] })).toEqual(['write']);
});
