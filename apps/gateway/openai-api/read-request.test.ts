import { expect, test } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../test/verifies.js';
import { parseBody } from '#libs/http-server/parse-body.js';
import { readChatRequest } from './read-request.js';

const { limits } = configSchema.parse({});
const user = { role: 'user', content: 'hi' };
const read = (body: unknown) => readChatRequest(body, 'openai', limits);

function fault(body: unknown): { code: string; param: string | undefined } {
  try {
    read(body);
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error('it was accepted');
}

verifies('chat.read.requests', 'null counts as absent, strangers are kept for the upstream', () => {
  const request = read({
    model: null,
    messages: [user, { role: 'assistant', content: null, tool_calls: null, refusal: null }],
    session_id: null,
    tools: [],
    tool_choice: 'auto',
    temperature: 0.5,
    max_tokens: null,
    top_k: 40,
    stream: null,
  });
  expect(request).toMatchObject({
    dialect: 'openai',
    parameters: { temperature: 0.5 },
    unknown: { top_k: 40 },
    stream: false,
    tools: [],
    toolChoice: 'auto',
  });
  expect(request.model).toBeUndefined();
  expect(request.messages[1]).toEqual({ role: 'assistant', content: null });
});

verifies('chat.read.requests', 'functions, servers and choices', () => {
  const request = read({
    messages: [user],
    tools: [
      { type: 'function', function: { name: 'a', description: null, parameters: null, strict: true } },
      { type: 'mcp', server_label: 'files', allowed_tools: { tool_names: ['x'] }, require_approval: 'never' },
      { type: 'mcp', server_label: '*' },
    ],
    tool_choice: { type: 'function', function: { name: 'a' } },
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(request.tools).toEqual([
    { type: 'function', definition: { name: 'a', strict: true } },
    { type: 'mcp', serverLabel: 'files', allowedTools: ['x'] },
    { type: 'mcp', serverLabel: '*' },
  ]);
  expect(request.toolChoice).toEqual({ name: 'a' });
  expect(request.includeUsage).toBe(true);
});

const tool = (name: string, parameters?: unknown) => ({ type: 'function', function: { name, parameters } });
const deep = (levels: number): unknown => (levels === 0 ? {} : { a: deep(levels - 1) });
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };

const faults: [name: string, body: unknown, code: string, param: string][] = [
  ['null', null, 'invalid_value', 'body'],
  ['a list', [], 'invalid_value', 'body'],
  ['no messages', {}, 'invalid_value', 'messages'],
  ['messages empty', { messages: [] }, 'invalid_value', 'messages'],
  ['messages not a list', { messages: 'hi' }, 'invalid_value', 'messages'],
  ['role with NUL', { messages: [{ role: 'developer\u0000', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
  ['role of the prototype', { messages: [{ role: '__proto__', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
  ['content a number', { messages: [{ role: 'user', content: 5 }] }, 'invalid_value', 'messages[0].content'],
  ['content an object', { messages: [{ role: 'user', content: {} }] }, 'invalid_value', 'messages[0].content'],
  ['stream a string', { messages: [user], stream: 'true' }, 'invalid_value', 'stream'],
  ['n negative', { messages: [user], n: -1 }, 'invalid_value', 'n'],
  ['n huge', { messages: [user], n: 1e9 }, 'invalid_value', 'n'],
  ['n with tools', { messages: [user], n: 2, tools: [tool('a')] }, 'invalid_value', 'n'],
  ['max_tokens huge', { messages: [user], max_tokens: 1e308 }, 'invalid_value', 'max_tokens'],
  ['temperature a string', { messages: [user], temperature: 'NaN' }, 'invalid_value', 'temperature'],
  ['model with CRLF', { messages: [user], model: 'a\r\nb' }, 'invalid_value', 'model'],
  ['session outside', { messages: [user], session_id: '../sess_y' }, 'invalid_value', 'session_id'],
  ['session a list', { messages: [user], session_id: ['x'] }, 'invalid_value', 'session_id'],
  [
    'stray result',
    { messages: [user, { role: 'tool', tool_call_id: 'c', content: 'x' }] },
    'invalid_value',
    'messages[1].tool_call_id',
  ],
  [
    'id twice',
    { messages: [user, { role: 'assistant', tool_calls: [call, call] }] },
    'invalid_value',
    'messages[1].tool_calls',
  ],
  ['tool twice', { messages: [user], tools: [tool('a'), tool('a')] }, 'invalid_value', 'tools[1].function.name'],
  ['reserved tool', { messages: [user], tools: [tool('approval_request')] }, 'reserved_name', 'tools[0].function.name'],
  [
    'server by URL',
    { messages: [user], tools: [{ type: 'mcp', server_label: 'a', server_url: 'http://x' }] },
    'invalid_value',
    'tools[0].server_url',
  ],
  [
    'approval',
    { messages: [user], tools: [{ type: 'mcp', server_label: 'a', require_approval: 'sometimes' }] },
    'invalid_value',
    'tools[0].require_approval',
  ],
  [
    'image of a file',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] }] },
    'invalid_value',
    'messages[0].content[0].image_url.url',
  ],
];
test('what is missing is said to be required, and what may be chosen is listed', () => {
  const messages = [{ role: 'tool', content: 'x' }];
  expect(() => read({})).toThrow(/^messages: is required$/);
  expect(() => read({ messages })).toThrow(/^messages\[0\].tool_call_id: is required$/);
  expect(() => read({ messages: 'x' })).toThrow(/^messages: expected array, received string$/);
  expect(() => read({ messages: [user], tool_choice: 'any' })).toThrow(/^tool_choice: must be auto, none, required/);
});

for (const [name, body, code, param] of faults) {
  verifies('chat.read.requests', name, () => {
    expect(fault(body)).toEqual({ code, param });
  });
}

verifies('chat.bounds.schemas', 'number of messages and tools, size and depth of a schema', () => {
  expect(fault({ messages: Array.from({ length: 100_000 }, () => user) })).toMatchObject({
    code: 'invalid_value',
    param: 'messages',
  });
  expect(fault({ messages: [user], tools: Array.from({ length: 10_000 }, (_, at) => tool(`t${at}`)) })).toMatchObject({
    code: 'too_many_tools',
  });
  expect(fault({ messages: [user], tools: [tool('a', deep(60))] })).toEqual({
    code: 'invalid_value',
    param: 'tools[0].function.parameters',
  });
  expect(fault({ messages: [user], tools: [tool('a', { description: 'x'.repeat(70_000) })] })).toMatchObject({
    code: 'invalid_value',
  });
  expect(read({ messages: [user], tools: [tool('a', deep(20))] }).tools).toHaveLength(1);
});

verifies('chat.read.requests', 'bodies that are not JSON, not UTF-8, too deep', () => {
  const code = (body: Buffer) => {
    try {
      parseBody(body);
      return 'accepted';
    } catch (error) {
      return (error as AppError).code;
    }
  };
  expect(code(Buffer.from(''))).toBe('invalid_json');
  expect(code(Buffer.from('{"a":'))).toBe('invalid_json');
  expect(code(Buffer.from([0x22, 0xff, 0xfe, 0x22]))).toBe('invalid_json');
  expect(code(Buffer.from('{"a":1}', 'utf16le'))).toBe('invalid_json');
  expect(code(Buffer.from('['.repeat(1_000_000)))).toBe('invalid_json');
  expect(code(Buffer.from(`"${'['.repeat(1_000)}\\""`))).toBe('accepted');
  expect(code(Buffer.from('\ufeff{"a":1}'))).toBe('accepted');
  expect(code(Buffer.from(`[${'1,'.repeat(100_000)}1]`))).toBe('request_too_large');
  expect(code(Buffer.from(`["${','.repeat(200_000)}"]`))).toBe('accepted');
});

test('what looks like a prototype is a member and nothing more', () => {
  const request = read(JSON.parse('{"messages":[{"role":"user","content":"x"}],"__proto__":{"stream":true}}'));
  expect(request.stream).toBe(false);
  expect(({} as { stream?: boolean }).stream).toBeUndefined();
});
