// Requests as Codex sends them, and the answers that it reads.
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import type { StoredRun } from '#libs/runs/run-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { faultOf } from '../../../../test/support/fault-of.js';
import { readFrames } from '../../../../test/support/read-frames.js';
import { verifies } from '../../../../test/verifies.js';
import { readResponseRequest } from '../read-response-request.js';
import { pageOfInput } from '../render-input-items.js';
import { ResponseFold, ResponseSseRenderer } from '../render-response.js';
import { responseRendering } from '../render-stored-response.js';
import type { WireResponseEvent } from '../wire-types.js';

const { limits } = readConfig({ environment: {} });

const grammar = 'start: begin_patch hunk+ end_patch';
const applyPatch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files',
  format: { type: 'grammar', syntax: 'lark', definition: grammar },
};
const fn = (name: string) => ({
  type: 'function',
  name,
  description: `Does ${name}`,
  strict: false,
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
});
const crm = { type: 'namespace', name: 'crm', description: 'Customers', tools: [fn('list'), fn('find')] };
const mcp = {
  type: 'namespace',
  name: 'mcp__docs__',
  description: '',
  tools: [fn('find'), { ...applyPatch, format: null }],
};
const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] };

const codex = (more: object) => ({
  model: 'm',
  instructions: 'You are Codex.',
  input: [user],
  tools: [fn('exec_command'), applyPatch, crm, mcp, { type: 'web_search', external_web_access: true }],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'thread',
  text: { verbosity: 'low' },
  client_metadata: { 'x-codex-installation-id': 'x' },
  ...more,
});
const read = (more: object = {}) => readResponseRequest(codex(more), limits);
const namesOf = (more: object) =>
  read(more).tools.flatMap((tool) => (tool.type === 'function' ? [tool.definition.name] : []));
const flat = ['exec_command', 'apply_patch', 'crm__list', 'crm__find', 'mcp__docs__find', 'mcp__docs__apply_patch'];

/** A call of each of these functions. */
function turnWith(...names: string[]): TurnEvent[] {
  const calls = names.flatMap((name, index): TurnEvent[] => {
    const of = { type: 'tool_call' as const, index, clientIndex: index };
    const id = `call_${index}`;
    return [
      { ...of, id, name, arguments: '' },
      { ...of, arguments: '{"input":"*** Begin' },
      { ...of, arguments: '\\n"}' },
    ];
  });
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return [{ type: 'start', model: 'm', runId: 'run_1' }, ...calls, { type: 'done', finishReason: 'tool_calls', usage }];
}

const rendering = (more: object = {}) =>
  responseRendering({ id: `run_${'0'.repeat(32)}`, createdAt: new Date(0) }, read(more));

function streamed(events: TurnEvent[], more: object = {}): WireResponseEvent[] {
  const renderer = new ResponseSseRenderer(rendering(more));
  return readFrames(events.map((event) => renderer.render(event)).join(''));
}

verifies(
  'apis.responses.codex',
  'functions of namespaces have joined names, custom tools are told their grammar',
  () => {
    expect(namesOf({})).toEqual(flat);
    const [, patch, list, , , other] = read().tools as unknown as { definition: JsonObject }[];
    expect(patch!.definition['description']).toBe(`Edits files\n\nThe input must match this lark grammar:\n${grammar}`);
    expect(patch!.definition['parameters']).toMatchObject({
      properties: { input: { type: 'string' } },
      required: ['input'],
    });
    expect(list!.definition['description']).toBe('crm: Customers\n\nDoes list');
    expect(other!.definition).toMatchObject({ name: 'mcp__docs__apply_patch', description: 'Edits files' });
  },
);

verifies('apis.responses.codex', 'tools that the input adds, the later of one name', () => {
  const functions = { type: 'namespace', name: 'functions', description: '', tools: [fn('wait'), applyPatch] };
  const add = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools });
  const again = { ...fn('wait'), description: 'Waits longer' };
  const input = [add(functions, crm), user, add({ ...functions, tools: [again] })];
  expect(namesOf({ tools: undefined, input })).toEqual(['wait', 'apply_patch', 'crm__list', 'crm__find']);
  expect(JSON.stringify(read({ tools: undefined, input }).tools)).toContain('Waits longer');
  expect(read({ input }).messages).toEqual([{ role: 'user', content: 'Go' }]);
  const twice = { input: [add({ ...crm, tools: [fn('a'), fn('a')] })] };
  expect(faultOf(() => read(twice))).toMatchObject({ param: 'input[0].tools[0].tools[1].name' });
});

verifies('apis.responses.codex', 'calls come back in the form of their tool, streamed and whole', () => {
  const events = turnWith('apply_patch', 'crm__find', 'exec_command', 'mcp__docs__apply_patch');
  const args = '{"input":"*** Begin\\n"}';
  const of = (number: number) => ({ call_id: `call_${number}`, status: 'completed' });
  const output = [
    { type: 'custom_tool_call', id: 'ctc_0', name: 'apply_patch', input: '*** Begin\n', ...of(0) },
    { type: 'function_call', id: 'fc_1', name: 'find', namespace: 'crm', arguments: args, ...of(1) },
    { type: 'function_call', id: 'fc_2', name: 'exec_command', arguments: args, ...of(2) },
    {
      type: 'custom_tool_call',
      id: 'ctc_3',
      name: 'apply_patch',
      namespace: 'mcp__docs__',
      input: '*** Begin\n',
      ...of(3),
    },
  ];
  const fold = new ResponseFold(rendering());
  for (const event of events) fold.add(event);
  expect(fold.answer.output).toEqual(output);
  const reported = streamed(events);
  expect(reported.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))).toEqual(output);
  const ofPatch = reported.filter((event) => 'item_id' in event && event.item_id === 'ctc_0');
  expect(ofPatch.map(({ type }) => type)).toEqual([
    'response.custom_tool_call_input.delta',
    'response.custom_tool_call_input.delta',
    'response.custom_tool_call_input.done',
  ]);
  expect(ofPatch.map((event) => ('delta' in event ? event.delta : ''))).toEqual(['*** Begin', '\n', '']);
  expect(ofPatch.at(-1)).toMatchObject({ input: '*** Begin\n' });
});

/** What Codex sends with the results of the calls above. */
const followUp = [
  user,
  { type: 'reasoning', summary: [], content: null, encrypted_content: 'gAAA' },
  { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin\n', status: 'completed' },
  { type: 'function_call', call_id: 'b', name: 'find', namespace: 'crm', arguments: '{"q":"x"}' },
  { type: 'custom_tool_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'Done' }] },
  {
    type: 'function_call_output',
    call_id: 'b',
    output: [
      { type: 'input_text', text: 'one' },
      { type: 'encrypted_content', encrypted_content: 'g' },
    ],
  },
];

verifies('apis.responses.codex', 'calls and results are read back', () => {
  const { messages } = read({ input: followUp });
  const call = (id: string, name: string, args: string) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  expect(messages).toEqual([
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [call('a', 'apply_patch', '{"input":"*** Begin\\n"}'), call('b', 'crm__find', '{"q":"x"}')],
    },
    { role: 'tool', tool_call_id: 'a', content: 'Done' },
    { role: 'tool', tool_call_id: 'b', content: 'one\n[encrypted_content]' },
  ]);
});

verifies('apis.responses.codex', 'the input of a stored response is in the caller’s form again', () => {
  const run = { id: `run_${'0'.repeat(32)}`, request: read({ input: followUp }) } as unknown as StoredRun;
  const { data } = pageOfInput(run, { order: 'asc' });
  expect(data.map(({ type, name, namespace }) => [type, name, namespace])).toEqual([
    ['message', undefined, undefined],
    ['custom_tool_call', 'apply_patch', undefined],
    ['function_call', 'find', 'crm'],
    ['custom_tool_call_output', undefined, undefined],
    ['function_call_output', undefined, undefined],
  ]);
  expect(data[1]).toMatchObject({ call_id: 'a', input: '*** Begin\n' });
});

verifies('apis.responses.codex', 'items of other tools are returned as calls, results and text', () => {
  const action = { type: 'exec', command: ['ls'] };
  const { messages } = read({
    input: [
      user,
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
      { type: 'local_shell_call', id: 'ls_1', call_id: 'c', status: 'completed', action },
      { type: 'local_shell_call_output', id: 'c', output: 'a.txt' },
      { type: 'agent_message', author: 'a', recipient: 'b', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'compaction', encrypted_content: 'gAAA' },
    ],
  });
  expect(messages).toEqual([
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: '[web_search_call {"type":"search","query":"x"}]',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'local_shell', arguments: JSON.stringify(action) } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'a.txt' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: '[compaction]' },
  ]);
});

verifies(
  'apis.responses.codex',
  'tools of the provider are its own, tools of the client’s machine are left out with a warning',
  () => {
    const web = { type: 'web_search', external_web_access: true };
    expect(read()).toMatchObject({ providerTools: [{ api: 'openai', tool: web }] });
    expect(read().warnings).toBeUndefined();
    const { tools, warnings } = read({ tools: [{ type: 'local_shell' }, fn('a'), { type: 'hologram', name: 'x' }] });
    expect(tools).toHaveLength(1);
    expect(warnings).toMatchObject([{ param: 'tools[0]' }, { param: 'tools[2]' }]);
    expect(warnings![0]!.message).toBe("Tools of type 'local_shell' are not supported here, so tools[0] was left out");
  },
);

verifies('chat.tool-choice', 'on /v1/responses: by name, within a namespace, of a server, among allowed tools', () => {
  const choice = (tool_choice: object) => {
    const { toolChoice, allowedTools, providerTools } = read({ tool_choice });
    return { toolChoice, allowedTools, chosen: providerTools?.map(({ chosen }) => chosen) };
  };
  const all = { allowedTools: undefined, chosen: [undefined] };
  expect(choice({ type: 'custom', name: 'apply_patch' })).toEqual({ ...all, toolChoice: { name: 'apply_patch' } });
  expect(choice({ type: 'function', name: 'list' })).toEqual({ ...all, toolChoice: { name: 'crm__list' } });
  expect(choice({ type: 'function', name: 'find', namespace: 'crm' })).toMatchObject({
    toolChoice: { name: 'crm__find' },
  });
  expect(choice({ type: 'mcp', server_label: 'a' })).toEqual({ ...all, toolChoice: { server: 'a' } });
  expect(choice({ type: 'mcp', server_label: 'a', name: 'b' })).toMatchObject({
    toolChoice: { server: 'a', name: 'b' },
  });
  expect(choice({ type: 'web_search' })).toEqual({ ...all, toolChoice: undefined, chosen: [true] });
  const tools = [
    { type: 'function', name: 'list' },
    { type: 'mcp', server_label: 'a' },
    { type: 'namespace', name: 'mcp__docs__' },
  ];
  expect(choice({ type: 'allowed_tools', mode: 'required', tools })).toEqual({
    toolChoice: 'required',
    allowedTools: [
      { name: 'crm__list' },
      { server: 'a' },
      { name: 'mcp__docs__find' },
      { name: 'mcp__docs__apply_patch' },
    ],
    chosen: undefined,
  });
  const web = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] };
  expect(choice(web)).toEqual({ toolChoice: 'auto', allowedTools: [], chosen: [undefined] });
  const code = 'tool_not_found';
  expect(faultOf(() => choice({ type: 'file_search' }))).toMatchObject({ code, http: 400, param: 'tool_choice' });
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'file_search' }] };
  expect(faultOf(() => choice(allowed))).toMatchObject({ code, http: 400, param: 'tool_choice' });
});
