import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import { ask } from '../../../../test/support/ask-offline-model.js';
import { verifies } from '../../../../test/verifies.js';

const names = fc.oneof(
  fc.constantFrom(
    'path',
    'url',
    'city',
    'query',
    'content',
    'amount',
    'from',
    'to',
    'on',
    'limit',
    'start',
    '文件',
    'tags',
    'offset_ms',
    '__proto__',
    'constructor',
  ),
  fc.string({ maxLength: 12 }),
);
const scalar = fc.oneof(
  fc.record(
    { type: fc.constant('string'), maxLength: fc.nat(20), pattern: fc.constantFrom('^(a+)+$', '^[a-z]*$', '.*') },
    { requiredKeys: ['type'] },
  ),
  fc.record({
    type: fc.constant('string'),
    format: fc.constantFrom('uri', 'email', 'date', 'date-time', 'uuid', 'time'),
  }),
  fc.record(
    {
      type: fc.constantFrom('number', 'integer'),
      minimum: fc.integer({ min: -9, max: 9 }),
      maximum: fc.integer({ min: 0, max: 99 }),
      multipleOf: fc.constantFrom(2, 0.5),
    },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('boolean') }),
  fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 4 }) }),
  fc.record({ type: fc.constant(['null', 'string']) }),
  fc.record({ const: fc.oneof(fc.string(), fc.integer()) }),
  fc.constant({}),
);
const { schema } = fc.letrec<{ schema: JsonObject; any: JsonObject }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    scalar as fc.Arbitrary<JsonObject>,
    tie('schema'),
    fc.record(
      {
        type: fc.constant('array'),
        items: tie('any'),
        minItems: fc.nat(3),
        maxItems: fc.nat(3),
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ anyOf: fc.array(tie('any'), { minLength: 1, maxLength: 3 }) }),
  ),
  schema: fc.array(fc.tuple(names, tie('any'), fc.boolean()), { maxLength: 5 }).map((members) => ({
    type: 'object',
    properties: Object.fromEntries(members.map(([name, own]) => [name, own])),
    required: [...new Set(members.filter(([, , isRequired]) => isRequired).map(([name]) => name))],
    additionalProperties: false,
  })),
}));
const snippets = [
  '读取',
  'read ',
  'a.txt',
  ' https://x.example/a ',
  '“引用”',
  '并',
  ' and then ',
  '保存到',
  'weather in Rome',
  '明天下午三点',
  '12 USD',
  'bob@x.example',
  '```x```',
  '?',
  '，',
  ' 5 ',
];
const requests = fc.oneof(
  fc.string({ maxLength: 200, unit: 'grapheme' }),
  fc.array(fc.constantFrom(...snippets), { maxLength: 12 }).map((parts) => parts.join('')),
);
const toolNames = fc.oneof(
  fc.constantFrom('read_file', 'saveText', 'get_weather', '查询', 'do'),
  fc.string({ minLength: 1, maxLength: 20 }),
);

verifies(
  'offline.any-schema',
  'any schemas, texts and tool choices',
  async () => {
    const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, ownProperties: true });
    addFormats.default(ajv, { mode: 'fast' });
    await fc.assert(
      fc.asyncProperty(
        requests,
        fc.array(fc.tuple(toolNames, schema), { maxLength: 4 }),
        fc.constantFrom('auto', 'required', 'none'),
        async (request, offered, toolChoice) => {
          const tools = offered.map(([name, parameters]) => ({ name, description: name, parameters }));
          const { events, finish } = await ask([{ role: 'user', content: request }], tools, {
            toolChoice: toolChoice as 'auto',
          });
          expect(['stop', 'tool_calls']).toContain(finish);
          for (const event of events) {
            if (event.type !== 'tool_call_end') continue;
            const named = tools.filter((tool) => tool.name === event.name);
            expect(named.some((tool) => ajv.validate(tool.parameters, JSON.parse(event.arguments)))).toBe(true);
          }
        },
      ),
      { numRuns: 400, seed: 7 },
    );
  },
  60_000,
);

verifies(
  'offline.any-schema',
  'schemas that refer to themselves, to strangers, to nothing, and calls that never repeat',
  async () => {
    const loop = { type: 'object', properties: { next: { $ref: '#' }, path: { type: 'string' } }, required: ['path'] };
    const remote = { type: 'object', properties: { path: { $ref: 'http://169.254.169.254/' } }, required: ['path'] };
    let deep: JsonObject = { type: 'string' };
    for (let depth = 0; depth < 3000; depth += 1)
      deep = { type: 'object', properties: { path: deep }, required: ['path'] };
    for (const parameters of [
      loop,
      remote,
      deep,
      { allOf: [{ $ref: '#' }] },
      { type: 'array' },
      {},
      { properties: { path: true } },
    ] as JsonObject[]) {
      const messages: ChatMessage[] = [{ role: 'user', content: 'read a.txt and b.txt, then read a.txt' }];
      const seen = new Set<string>();
      for (let round = 0; round < 12; round += 1) {
        const { events } = await ask(messages, [{ name: 'read_file', parameters }]);
        const calls = events.filter((event) => event.type === 'tool_call_end');
        if (calls.length === 0) break;
        messages.push({
          role: 'assistant',
          content: null,
          tool_calls: calls.map((call) => ({
            id: `${round}${call.index}`,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
          })),
        });
        for (const call of calls) {
          expect(seen.has(call.arguments)).toBe(false);
          seen.add(call.arguments);
          messages.push({ role: 'tool', tool_call_id: `${round}${call.index}`, content: 'x' });
        }
        expect(round).toBeLessThan(9);
      }
    }
  },
);

const hostile: [string, string][] = [
  ['one letter', 'a'.repeat(100_000)],
  ['dots', 'a.'.repeat(50_000)],
  ['slashes', '/a'.repeat(50_000)],
  ['quotes', '"“'.repeat(50_000)],
  ['digits', '1,'.repeat(50_000)],
  ['digits and signs', '1+('.repeat(33_000)],
  ['chinese', '读取文件并保存到'.repeat(12_500)],
  ['commas', '，'.repeat(100_000)],
  ['and', 'read and '.repeat(11_000)],
  ['addresses', 'http://a.b/c '.repeat(7_700)],
  ['at signs', 'a@'.repeat(50_000)],
  ['spaces', ' '.repeat(100_000)],
  ['spaces before a word', `${' '.repeat(3_990)}tomorrow`],
  ['names of parameters', 'user count user 1 '.repeat(5_500)],
  ['capitals', 'In Aa '.repeat(16_000)],
  ['times', '三天前'.repeat(33_000)],
];

for (const [kind, text] of hostile) {
  verifies('offline.time', `100 KB of ${kind}, 128 tools`, async () => {
    const tools = Array.from({ length: 128 }, (_, at) => ({
      name: `read_thing_${at}`,
      description: '读取文件 reads a file or searches for what is asked',
      parameters: {
        type: 'object',
        properties: {
          path: { type: 'string' },
          city: { type: 'string' },
          q: { type: 'string' },
          content: { type: 'string' },
          n: { type: 'integer' },
          user_id: { type: 'string' },
          count: { type: 'number' },
        },
        required: ['path', 'content', 'user_id', 'count'],
      },
    }));
    // CPU time does not depend on other work on this machine.
    const started = process.cpuUsage();
    await ask([{ role: 'user', content: text }], tools);
    await ask(
      [
        { role: 'user', content: 'Read a.txt' },
        { role: 'tool', tool_call_id: 'x', content: text },
      ],
      [],
    );
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(4000);
  });
}
