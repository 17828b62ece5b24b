import { expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { faultOf } from '../../../test/support/fault-of.js';
import { verifies } from '../../../test/verifies.js';
import { readMessageRequest } from './read-message-request.js';

const { limits } = configSchema.parse({});
const hi = { role: 'user', content: 'hi' };
const read = (more: object, bounds = limits) => readMessageRequest({ max_tokens: 10, messages: [hi], ...more }, bounds);

verifies('apis.messages.read', 'efforts are passed on for the family to judge, budgets become the nearest', () => {
  const effort = (more: object) => read(more).parameters['reasoning_effort'];
  for (const given of ['low', 'high', 'xhigh', 'max']) expect(effort({ output_config: { effort: given } })).toBe(given);
  expect(effort({ thinking: { type: 'enabled', budget_tokens: 1_024 } })).toBe('low');
  expect(effort({ thinking: { type: 'enabled', budget_tokens: 32_000 } })).toBe('high');
  expect(effort({ thinking: { type: 'adaptive' } })).toBeUndefined();
});

verifies('apis.messages.read', 'every field that has an equivalent', () => {
  const request = read({
    model: 'scripted/model',
    system: [
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be kind.' },
    ],
    stop_sequences: ['END'],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stream: true,
    metadata: { user_id: 'u1' },
    thinking: { type: 'enabled', budget_tokens: 4_000 },
    output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    tools: [
      { name: 'mine', description: 'd', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } },
      { type: 'mcp_toolset', mcp_server_name: 'a' },
      {
        type: 'mcp_toolset',
        mcp_server_name: 'b',
        default_config: { enabled: false },
        configs: { x: { enabled: true }, y: {} },
      },
      { type: 'mcp_toolset', mcp_server_name: 'c', configs: { x: { enabled: false }, y: {} } },
    ],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    service_tier: 'auto',
    session_id: 's',
    tool_mode: 'auto',
    max_tool_rounds: 3,
  });
  expect(request).toEqual({
    dialect: 'anthropic',
    model: 'scripted/model',
    messages: [{ role: 'system', content: 'Be brief.\n\nBe kind.' }, hi],
    tools: [
      { type: 'function', definition: { name: 'mine', description: 'd', parameters: { type: 'object' } } },
      { type: 'mcp', serverLabel: 'a' },
      { type: 'mcp', serverLabel: 'b', allowedTools: ['x'] },
      { type: 'mcp', serverLabel: 'c', deniedTools: ['x'] },
    ],
    toolChoice: 'required',
    parallelToolCalls: false,
    stream: true,
    includeUsage: true,
    parameters: {
      max_tokens: 10,
      temperature: 0.5,
      top_p: 0.9,
      stop: ['END'],
      reasoning_effort: 'medium',
      user: 'u1',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' }, strict: false },
      },
    },
    unknown: { top_k: 5 },
    sessionId: 's',
    toolMode: 'auto',
    maxToolRounds: 3,
    onDisconnect: 'cancel',
    priority: 'interactive',
  });
  expect(read({ tool_choice: { type: 'tool', name: 'mine' } }).toolChoice).toEqual({ name: 'mine' });
  expect(read({}).parameters).toEqual({ max_tokens: 10 });
});

verifies('apis.messages.read', 'blocks of every kind, results before what else the user says', () => {
  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'UERG' };
  const png = { type: 'base64', media_type: 'image/png', data: 'UE5H' };
  const { messages } = read({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', source: png },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'document', title: 'a.pdf', source: pdf },
          { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'I call.' },
          { type: 'tool_use', id: 'toolu_1', name: 'mine', input: { a: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'mine', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'there' },
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'one' },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            is_error: true,
            content: [
              { type: 'text', text: 'two' },
              { type: 'image', source: png },
            ],
          },
        ],
      },
    ],
  });
  expect(messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,UE5H' } },
        { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' } },
        { type: 'text', text: 'T\n\nplain' },
      ],
    },
    {
      role: 'assistant',
      content: 'I call.',
      reasoning_content: 'hm',
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'mine', arguments: '{"a":1}' } },
        { id: 'toolu_2', type: 'function', function: { name: 'mine', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'one' },
    {
      role: 'tool',
      tool_call_id: 'toolu_2',
      content: 'two\n[image image/png, 3 bytes]',
      is_error: true,
      blocks: [
        { type: 'text', text: 'two' },
        { type: 'image', data: 'UE5H', mimeType: 'image/png' },
      ],
    },
    { role: 'user', content: 'there' },
  ]);
});

const ranHere = [
  { type: 'text', text: 'one' },
  { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'get_time', server_name: 'workspace', input: {} },
  { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [{ type: 'text', text: 'noon' }] },
  { type: 'text', text: 'two' },
];
const keptCall = { type: 'tool_use', id: `call_8${'0'.repeat(31)}`, name: 'mine', input: {} };

verifies('apis.messages.read', 'a turn that shows what ran here is its rounds again', () => {
  const { messages } = read({ messages: [hi, { role: 'assistant', content: ranHere }, hi] });
  expect(messages).toEqual([
    hi,
    {
      role: 'assistant',
      content: 'one',
      tool_calls: [{ id: 'mcptoolu_1', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'mcptoolu_1', content: 'noon' },
    { role: 'assistant', content: 'two' },
    hi,
  ]);
});

verifies('apis.messages.read', 'a mixed turn is one message, which the store knows better', () => {
  const content = [...ranHere, keptCall];
  const result = { type: 'tool_result', tool_use_id: keptCall.id, content: 'v' };
  const { messages } = read({ messages: [hi, { role: 'assistant', content }, { role: 'user', content: [result] }] });
  expect(messages.slice(1)).toEqual([
    {
      role: 'assistant',
      content: 'one\n\ntwo',
      tool_calls: [{ id: keptCall.id, type: 'function', function: { name: 'mine', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: keptCall.id, content: 'v' },
  ]);
});

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const assistant = (...content: object[]) => ({ messages: [hi, { role: 'assistant', content }] });
const tool = (more: object) => ({ tools: [{ name: 'mine', input_schema: {}, ...more }] });
const deep = (levels: number): object => (levels === 0 ? {} : { properties: deep(levels - 1) });

/** An invalid request, and the field that the error must name. */
const faults: [string, object, string, string?][] = [
  ['no max_tokens', { max_tokens: null }, 'max_tokens'],
  ['max_tokens 0', { max_tokens: 0 }, 'max_tokens'],
  ['no messages', { messages: null }, 'messages'],
  ['an unknown role', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
  ['an empty user message', { messages: [{ role: 'user', content: '' }] }, 'messages[0].content'],
  ['a user message without blocks', user(), 'messages[0].content'],
  ['a text block without text', user({ type: 'text' }), 'messages[0].content[0].text'],
  ['an image from a file', user({ type: 'image', source: { type: 'file' } }), 'messages[0].content[0].source.type'],
  [
    'an image of a type that is none',
    user({ type: 'image', source: { type: 'base64', media_type: 'text/plain', data: 'AA==' } }),
    'messages[0].content[0].source.media_type',
  ],
  [
    'an image that is no base64',
    user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '%' } }),
    'messages[0].content[0].source.data',
  ],
  [
    'a file of the host as an image',
    user({ type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } }),
    'messages[0].content[0].source.url',
  ],
  ['a call of the user', user({ type: 'tool_use', id: 'x', name: 'y', input: {} }), 'messages[0].content[0].type'],
  [
    'a result that answers nothing',
    user({ type: 'text', text: 'x' }, { type: 'tool_result', tool_use_id: 'nobody' }),
    'messages[0].content[1].tool_use_id',
  ],
  [
    'a result of the server that answers nothing',
    assistant({ type: 'mcp_tool_result', tool_use_id: 'nobody' }),
    'messages[1].content[0].tool_use_id',
  ],
  [
    'input that is no object',
    assistant({ type: 'tool_use', id: 'x', name: 'y', input: [] }),
    'messages[1].content[0].input',
  ],
  ['the same call twice', assistant(keptCall, keptCall), 'messages'],
  ['a tool without a name', { tools: [{ input_schema: {} }] }, 'tools[0].name'],
  ['a tool without a schema', { tools: [{ name: 'x' }] }, 'tools[0].input_schema'],
  ['a name of ours', tool({ name: 'approval_request' }), 'tools[0].name', 'reserved_name'],
  ['another name of ours', tool({ name: 'sign_in_request' }), 'tools[0].name', 'reserved_name'],
  ['two tools of one name', { tools: [...tool({}).tools, ...tool({}).tools] }, 'tools[1].name'],
  ['a schema that is too deep', tool({ input_schema: deep(limits.tool_schema_depth + 1) }), 'tools[0].input_schema'],
  ['a toolset without a server', { tools: [{ type: 'mcp_toolset' }] }, 'tools[0].mcp_server_name'],
  [
    'a server of the caller’s',
    { mcp_servers: [{ type: 'url', name: 'x', url: 'https://x.example/mcp' }] },
    'mcp_servers',
  ],
  ['a conversation held elsewhere', { thread: { type: 'create' } }, 'thread'],
  ['an unknown tool_choice', { tool_choice: { type: 'required' } }, 'tool_choice.type'],
  ['a temperature above 1', { temperature: 1.5 }, 'temperature'],
  ['a session that is a path', { session_id: '../x' }, 'session_id'],
];
for (const [what, body, param, code = 'invalid_value'] of faults) {
  verifies('apis.messages.faults', what, () => {
    const fault = faultOf(() => read(body));
    expect(fault).toMatchObject({ code, param, http: 400 });
  });
}

verifies('apis.messages.faults', 'a body that is no object', () => {
  for (const body of [[], null, 'x']) {
    expect(faultOf(() => readMessageRequest(body, limits))).toMatchObject({ code: 'invalid_value', param: 'body' });
  }
});

verifies('apis.messages.faults', 'too many messages and tools', () => {
  const many = faultOf(() => read({ messages: [hi, hi, hi] }, { ...limits, messages: 2 }));
  expect(many).toMatchObject({ code: 'invalid_value', param: 'messages' });
  expect(faultOf(() => read(tool({}), { ...limits, tools: 0 }))).toMatchObject({
    code: 'too_many_tools',
    param: 'tools',
  });
});
