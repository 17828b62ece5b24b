import { expect } from 'vitest';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { call, type Kind, simpleRequest } from '../../../../test/fixtures/read-family.js';
import { verifies } from '../../../../test/verifies.js';
import { withOwnPropertyNames } from '../wire/own-property-names.js';
import { anthropicPropertyNames as rule, mapProperties } from './property-names.js';
import { createProvider } from '../routing/create-provider.js';
import { providerSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { startScriptedUpstream } from '../../../../test/support/scripted-upstream.js';

function mapped(parameters: object) {
  const { request, tools } = mapProperties(
    simpleRequest({ tools: [{ name: 't', parameters: parameters as JsonObject }] }),
    rule,
  );
  return { schema: request.tools[0]!.parameters, tool: tools.get('t')! };
}

verifies('models.property-names', 'every place of a schema that names a property', () => {
  const { schema, tool } = mapped({
    properties: {
      $top: { type: 'integer', title: 'Top' },
      _top: { $ref: '#/properties/%24top' },
      'a/b': { anyOf: [{ properties: { 'c~d': true } }, { type: 'null' }], default: { 'c~d': 1, 'x y': 2 } },
      ['长'.repeat(70)]: {
        items: [{ properties: { $top: {} } }],
        patternProperties: { '^x y': { $ref: '#/$defs/a b' } },
      },
    },
    required: ['$top', '_top'],
    dependentRequired: { $top: ['a/b'] },
    dependencies: { 'a/b': ['$top'], _top: { required: ['$top'] } },
    $defs: { 'a b': { allOf: [{ $ref: '#/properties/a~1b/anyOf/0/properties/c~0d' }], enum: ['$top', { $top: 1 }] } },
  });
  const top = tool.toWire({ $top: 1 });
  const [given] = Object.keys(top);
  // `_top` is another property's own name.
  expect(given).toMatch(/^_top_[0-9a-f]{8}$/);
  const long = Object.keys(schema!['properties'] as object)[3]!;
  expect(long).toMatch(/^_{1,64}[0-9a-f]{8}$/);
  expect(schema).toEqual({
    properties: {
      [given!]: { type: 'integer', title: 'Top' },
      _top: { $ref: `#/properties/${given}` },
      a_b: {
        title: 'a/b',
        anyOf: [{ properties: { c_d: true } }, { type: 'null' }],
        default: { c_d: 1, 'x y': 2 },
      },
      [long]: {
        title: '长'.repeat(70),
        items: [{ properties: { [given!]: { title: '$top' } } }],
        patternProperties: { '^x y': { $ref: '#/$defs/a b' } },
      },
    },
    required: [given, '_top'],
    dependentRequired: { [given!]: ['a_b'] },
    dependencies: { a_b: [given], _top: { required: [given] } },
    $defs: { 'a b': { allOf: [{ $ref: '#/properties/a_b/anyOf/0/properties/c_d' }], enum: ['$top', { $top: 1 }] } },
  });
  const args: JsonObject = {
    $top: 1,
    _top: 2,
    'a/b': { 'c~d': 3, c_d: 4, 'x y': 5 },
    ['长'.repeat(70)]: [{ $top: 6 }],
    more: { $top: 7 },
  };
  expect(Object.keys(tool.toWire(args))).toEqual([given, '_top', 'a_b', long, 'more']);
  expect(tool.fromWire(tool.toWire({ ...args, 'a/b': { 'c~d': 3 } }))).toEqual({ ...args, 'a/b': { 'c~d': 3 } });
});

verifies('models.property-names', 'nothing to map: the same request, and the same answer', () => {
  const tools = [
    { name: 't', parameters: { type: 'object', properties: { 'a.b-c_D': {}, __proto__: {} } } },
    { name: 'u' },
  ];
  const request = simpleRequest({
    tools,
    messages: [{ role: 'assistant', content: null, tool_calls: [call('c', 't', '{"$top":1}')] }],
  });
  const { request: same, tools: none } = mapProperties(request, rule);
  expect(same).toBe(request);
  const take = () => undefined;
  expect(withOwnPropertyNames(none, take)).toBe(take);
  expect(
    mapProperties(simpleRequest({ tools: [{ name: 'v', parameters: { properties: { $a: {} } } }] }), undefined).tools
      .size,
  ).toBe(0);
});

verifies('models.property-names', 'each definition is mapped once; a history that cannot be read stays', () => {
  const tools = [{ name: 't', parameters: { properties: { $top: {} } } }];
  const broken = call('c', 't', '{"$top":');
  const history = [{ role: 'assistant' as const, content: null, tool_calls: [broken, call('d', 't', '{"$top":1}')] }];
  const first = mapProperties(simpleRequest({ tools, messages: history }), rule).request;
  expect(mapProperties(simpleRequest({ tools }), rule).request.tools[0]).toBe(first.tools[0]);
  expect(first.messages).toEqual([{ ...history[0], tool_calls: [broken, call('d', 't', '{"_top":1}')] }]);
});

verifies('models.property-names', 'a call whose arguments are broken, or cut, and one of another tool', () => {
  const { tools } = mapProperties(
    simpleRequest({ tools: [{ name: 't', parameters: { properties: { $top: {} } } }] }),
    rule,
  );
  const reported: ModelEvent[] = [];
  const take = withOwnPropertyNames(tools, (batch) => void reported.push(...batch));
  const begins = (index: number, name: string): ModelEvent => ({ type: 'tool_call_start', index, id: 'x', name });
  const piece = (index: number, text: string): ModelEvent => ({ type: 'tool_call_delta', index, arguments: text });
  const ends = { type: 'tool_call_end', id: 'x' } as const;
  void take([begins(0, 't')]);
  void take([piece(0, '{"_top')]);
  void take([begins(1, 'u'), piece(1, '{"_top":1}')]);
  void take([{ ...ends, index: 0, name: 't', arguments: '{"_top', parseError: 'broken' }]);
  void take([{ ...ends, index: 1, name: 'u', arguments: '{"_top":1}' }, begins(2, 't'), piece(2, '{"_top":')]);
  expect(reported).toEqual([
    begins(0, 't'),
    begins(1, 'u'),
    piece(1, '{"_top":1}'),
    piece(0, '{"_top'),
    { ...ends, index: 0, name: 't', arguments: '{"_top', parseError: 'broken' },
    { ...ends, index: 1, name: 'u', arguments: '{"_top":1}' },
    begins(2, 't'),
  ]);
});

const cases: [kind: Kind, model: string, wire: string][] = [
  ['anthropic', 'claude-opus-5', '_top'],
  ['openai', 'anthropic/claude-opus-5', '_top'],
  ['openai', 'gpt-5.2', '$top'],
];

for (const [kind, model, wire] of cases) {
  verifies('models.property-names', `over HTTP: ${kind}, ${model}`, async () => {
    const answers = {
      anthropic: {
        type: 'message',
        content: [{ type: 'tool_use', id: 'a', name: 't', input: { [wire]: 2 } }],
        stop_reason: 'tool_use',
      },
      openai: {
        choices: [
          { message: { tool_calls: [call('a', 't', JSON.stringify({ [wire]: 2 }))] }, finish_reason: 'tool_calls' },
        ],
      },
    };
    const upstream = await startScriptedUpstream([{ json: answers[kind as 'openai'] }]);
    const config = providerSchema.parse({ kind, base_url: upstream.baseUrl });
    const provider = createProvider('up', config, { logger: silentLogger, offline: undefined as never });
    const events: ModelEvent[] = [];
    const tools = [{ name: 't', parameters: { type: 'object', properties: { $top: { type: 'integer' } } } }];
    const made = { requestId: 'r', deadline: Date.now() + 20_000, signal: new AbortController().signal };
    await provider.call(simpleRequest({ model, tools, stream: false }), made, (batch) => void events.push(...batch));
    await provider.close();
    await upstream.close();
    expect(foldEvents(events).calls).toEqual([{ id: 'a', name: 't', arguments: '{"$top":2}' }]);
    expect(JSON.stringify(upstream.requests[0]!.body)).toContain(`"properties":{"${wire}"`);
  });
}
