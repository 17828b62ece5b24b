import { expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { verifies } from '../../../test/verifies.js';
import { faultOf } from '../../../test/support/fault-of.js';
import { continueFrom, readResponseRequest } from './read-response-request.js';

const { limits } = configSchema.parse({});
const read = (more: object, bounds = limits) => readResponseRequest({ input: 'hi', ...more }, bounds);

verifies('apis.responses.read', 'every field that has an equivalent', () => {
  const request = read({
    model: 'scripted/model',
    instructions: 'Be brief.',
    max_output_tokens: 10,
    temperature: 0.5,
    top_p: 0.9,
    parallel_tool_calls: false,
    reasoning: { effort: 'low', summary: 'auto' },
    text: {
      format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      verbosity: 'low',
    },
    tools: [
      { type: 'function', name: 'mine', description: 'd', parameters: { type: 'object' }, strict: false },
      { type: 'mcp', server_label: 'a', allowed_tools: { tool_names: ['x'] }, require_approval: 'never' },
    ],
    tool_choice: { type: 'function', name: 'mine' },
    user: 'u',
    store: false,
    include: ['reasoning.encrypted_content'],
    session_id: 's',
  });
  expect(request).toMatchObject({
    dialect: 'responses',
    model: 'scripted/model',
    instructions: 'Be brief.',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [
      {
        type: 'function',
        definition: { name: 'mine', description: 'd', parameters: { type: 'object' }, strict: false },
      },
      { type: 'mcp', serverLabel: 'a', allowedTools: ['x'] },
    ],
    toolChoice: { name: 'mine' },
    parallelToolCalls: false,
    stream: false,
    store: false,
    sessionId: 's',
    unknown: { verbosity: 'low' },
  });
  expect(request.parameters).toEqual({
    max_tokens: 10,
    temperature: 0.5,
    top_p: 0.9,
    reasoning_effort: 'low',
    user: 'u',
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
  });
  expect(read({})).toMatchObject({ store: true, parameters: {}, unknown: {} });
});

const ranHere = [
  { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'one', annotations: [] }] },
  { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'workspace', tools: [] },
  { type: 'mcp_call', id: 'mcp_1', name: 'get_time', server_label: 'workspace', arguments: '{}', output: 'noon' },
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
  { type: 'message', role: 'assistant', id: 'msg_2', content: [{ type: 'output_text', text: 'two', annotations: [] }] },
];
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'mine', arguments: '{"a":1}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'v' });
const toolCall = (id: string, name: string, args: string) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

verifies('apis.responses.read', 'items of every kind, a turn that shows what ran here is its rounds again', () => {
  const png = 'data:image/png;base64,UE5H';
  const { messages } = read({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: png, detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' },
        ],
      },
      ...ranHere,
      call('foreign'),
      {
        ...output('foreign'),
        output: [
          { type: 'input_text', text: 'v' },
          { type: 'input_image', image_url: png },
        ],
      },
      { role: 'developer', content: 'now' },
    ],
  });
  expect(messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: png, detail: 'low' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' } },
      ],
    },
    { role: 'assistant', content: 'one', tool_calls: [toolCall('mcp_1', 'get_time', '{}')] },
    { role: 'tool', tool_call_id: 'mcp_1', content: 'noon' },
    {
      role: 'assistant',
      content: 'two',
      reasoning_content: 'hm',
      tool_calls: [toolCall('foreign', 'mine', '{"a":1}')],
    },
    {
      role: 'tool',
      tool_call_id: 'foreign',
      content: 'v\n[image image/png, 3 bytes]',
      blocks: [
        { type: 'text', text: 'v' },
        { type: 'image', data: 'UE5H', mimeType: 'image/png' },
      ],
    },
    { role: 'developer', content: 'now' },
  ]);
});

verifies('apis.responses.read', 'a call that failed here, as either major version of the SDK types it', () => {
  const failed = { ...ranHere[2]!, output: null };
  const errors = ['no', { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'no' }] }];
  for (const error of errors) {
    const { messages } = read({ input: [{ ...failed, error }] });
    expect(messages[1]).toEqual({ role: 'tool', tool_call_id: 'mcp_1', content: 'no', is_error: true });
  }
});

verifies('apis.responses.read', 'a mixed turn is one message, which the store knows better', () => {
  const kept = `call_8${'0'.repeat(31)}`;
  const { messages } = read({ input: [...ranHere, call(kept), output(kept)] });
  expect(messages).toEqual([
    {
      role: 'assistant',
      content: 'one\n\ntwo',
      reasoning_content: 'hm',
      tool_calls: [toolCall(kept, 'mine', '{"a":1}')],
    },
    { role: 'tool', tool_call_id: kept, content: 'v' },
  ]);
});

verifies('apis.responses.read', 'a result may answer the response before', () => {
  const turn = read({ input: [output('call_1')], previous_response_id: 'resp_1' });
  const history = [{ role: 'user' as const, content: 'x' }];
  const message = {
    role: 'assistant' as const,
    content: null,
    tool_calls: [toolCall('call_1', 'mine', '{}')] as never,
  };
  const open = [message];
  const whole = continueFrom({ history, open }, turn, limits);
  expect(whole.history).toBe(history);
  expect(whole.messages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  expect(faultOf(() => continueFrom({ history }, turn, limits))).toMatchObject({ param: 'input' });
  const few = { ...limits, messages: 2 };
  expect(faultOf(() => continueFrom({ history, open }, turn, few))).toMatchObject({ param: 'previous_response_id' });
  const small = { ...limits, body_bytes: 10 };
  expect(faultOf(() => continueFrom({ history, open }, turn, small))).toMatchObject({
    code: 'request_too_large',
    param: 'previous_response_id',
  });
});

verifies('apis.responses.read', 'credentials for a server are neither kept nor returned', () => {
  const headers = { Authorization: 'canary' };
  const tools = [{ type: 'mcp', server_label: 'a', authorization: 'canary', headers }];
  expect(JSON.stringify(read({ tools }))).not.toContain('canary');
});

const user = (...content: object[]) => ({ input: [{ role: 'user', content }] });
const tool = (more: object) => ({ tools: [{ type: 'function', name: 'mine', ...more }] });
const mcp = (more: object) => ({ tools: [{ type: 'mcp', server_label: 'a', ...more }] });

/** An invalid request, and the field that the error must name. */
const faults: [string, object, string, string?][] = [
  ['no input', { input: null }, 'input'],
  ['input without items', { input: [] }, 'input'],
  ['an item that is no object', { input: [7] }, 'input[0]'],
  ['an unknown item', { input: [{ type: 'item_reference', id: 'x' }] }, 'input[0].type'],
  ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }, 'input[0].role'],
  ['an unknown part', user({ type: 'hologram' }), 'input[0].content[0].type'],
  ['an image of the host', user({ type: 'input_image', image_url: 'file:///x' }), 'input[0].content[0].image_url'],
  ['a file by its id', user({ type: 'input_file', file_id: 'x' }), 'input[0].content[0].file_data'],
  ['a call without arguments', { input: [{ type: 'function_call', call_id: 'x', name: 'y' }] }, 'input[0].arguments'],
  ['a result that answers nothing', { input: [output('nobody')] }, 'input[0].call_id'],
  ['a tool without a type', { tools: [{ name: 'x' }] }, 'tools[0].type'],
  [
    'a namespace in a namespace',
    { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'namespace' }] }] },
    'tools[0].tools[0].type',
  ],
  ['a tool without a name', { tools: [{ type: 'function' }] }, 'tools[0].name'],
  ['a name of ours', tool({ name: 'approval_request' }), 'tools[0].name', 'reserved_name'],
  ['another name of ours', tool({ name: 'sign_in_request' }), 'tools[0].name', 'reserved_name'],
  ['two tools of one name', { tools: [...tool({}).tools, ...tool({}).tools] }, 'tools[1].name'],
  ['a server of the caller’s', mcp({ server_url: 'https://x.example/mcp' }), 'tools[0].server_url'],
  ['a connector', mcp({ connector_id: 'connector_gmail' }), 'tools[0].connector_id'],
  ['an approval of no known kind', mcp({ require_approval: 'sometimes' }), 'tools[0].require_approval'],
  ['allowed tools without a mode', { tool_choice: { type: 'allowed_tools', tools: [] } }, 'tool_choice.mode'],
  ['a temperature above 2', { temperature: 2.5 }, 'temperature'],
  ['max_output_tokens 0', { max_output_tokens: 0 }, 'max_output_tokens'],
  ['a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name'],
  ['in the background', { background: true }, 'background'],
  ['a conversation held elsewhere', { conversation: 'conv_1' }, 'conversation'],
  ['a stored prompt', { prompt: { id: 'x' } }, 'prompt'],
  ['metadata that is no text', { metadata: { a: 1 } }, 'metadata.a'],
  ['a session that is a path', { session_id: '../x' }, 'session_id'],
];
for (const [what, body, param, code = 'invalid_value'] of faults) {
  verifies('apis.responses.faults', what, () => {
    expect(faultOf(() => read(body))).toMatchObject({ code, param, http: 400 });
  });
}

verifies('apis.responses.faults', 'too many items and tools, a body that is no object', () => {
  const items = [{ role: 'user', content: 'x' }];
  expect(faultOf(() => read({ input: items }, { ...limits, messages: 0 }))).toMatchObject({ param: 'input' });
  expect(faultOf(() => read(tool({}), { ...limits, tools: 0 }))).toMatchObject({ code: 'too_many_tools' });
  expect(faultOf(() => readResponseRequest([], limits))).toMatchObject({ code: 'invalid_value', param: 'body' });
});
