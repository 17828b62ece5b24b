// What only Anthropic knows: its blocks and its tools, sent to Anthropic as they came and sent to other families as text.
import { expect } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { contentText } from '#libs/schemas/content-block.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { faultOf } from '../../../test/support/fault-of.js';
import { verifies } from '../../../test/verifies.js';
import { toModelRequest } from '../turn/ask-model.js';
import { mapToolNames } from '../models/conversation/tool-names.js';
import { Warnings } from '../models/conversation/warnings.js';
import { toAnthropicRequest } from '../models/anthropic/to-anthropic-request.js';
import { readMessageRequest } from './read-message-request.js';

const { limits } = readConfig({ environment: {} });
const user = (...content: object[]) => ({ role: 'user', content });
const read = (body: object) =>
  readMessageRequest({ max_tokens: 16, messages: [user({ type: 'text', text: 'x' })], ...body }, limits);

/** What Anthropic is sent. */
function sent(body: object): JsonObject & { messages: { content: JsonObject[] }[] } {
  const turn = read(body);
  const definitions = turn.tools.flatMap((tool) => (tool.type === 'function' ? [tool.definition] : []));
  const { toolChoice, providerTools } = turn;
  const request = toModelRequest(turn, turn.messages, {
    definitions,
    ...(typeof toolChoice === 'string' && { toolChoice }),
    ...(providerTools && { providerTools }),
  });
  const written = toAnthropicRequest(
    { ...request, model: 'claude-sonnet-4-5' },
    {
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      names: mapToolNames([]),
      warnings: new Warnings(),
      promptCaching: false,
      listedMaximum: undefined,
    },
  );
  return JSON.parse(JSON.stringify(written)) as ReturnType<typeof sent>;
}

const reference = { type: 'tool_reference', tool_name: 'weather' };
const found = {
  type: 'search_result',
  title: 'Tides',
  source: 'https://a.example/tides',
  content: [{ type: 'text', text: 'High at noon' }],
  citations: { enabled: true },
};
const fetched = { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } };
const later = { type: 'hologram', depth: 3 };
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'find', input: {} }] };
const result = (...content: object[]) => user({ type: 'tool_result', tool_use_id: 'a', content });

verifies('apis.messages.own-content', 'in a tool result', () => {
  const messages = [call, result({ type: 'text', text: 'one' }, reference, found, fetched, later)];
  expect(sent({ messages }).messages.at(-1)!.content).toEqual([
    {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'text', text: 'one' }, reference, found, fetched, later],
    },
  ]);
  const [, reported] = read({ messages }).messages as [unknown, { content: string; blocks: [] }];
  expect(reported.content).toBe(
    'one\n[tool_reference weather]\nTides\nhttps://a.example/tides\nHigh at noon\n[document https://a.example/a.pdf]\n[hologram]',
  );
  expect(contentText(reported.blocks)).toBe(reported.content);
  expect(sent({ messages: [call, result(reference)] }).messages.at(-1)!.content).toMatchObject([
    { content: [reference] },
  ]);
});

verifies('apis.messages.own-content', 'in a message of the user', () => {
  const upload = { type: 'container_upload', file_id: 'file_1' };
  const messages = [user(found, upload, fetched, later)];
  expect(sent({ messages }).messages[0]!.content).toEqual([found, upload, fetched, later]);
  const [{ content }] = read({ messages }).messages as unknown as [{ content: { text: string }[] }];
  expect(content.map(({ text }) => text)).toEqual([
    'Tides\nhttps://a.example/tides\nHigh at noon',
    '[container_upload file_1]',
    '[document https://a.example/a.pdf]',
    '[hologram]',
  ]);
  expect(JSON.stringify(content)).not.toContain('citations');
});

verifies('apis.messages.own-content', 'in a message of the assistant, with its thinking and calls', () => {
  const searched = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tides' } };
  const page = { type: 'web_search_result', title: 'Tides', url: 'https://a.example', encrypted_content: 'x' };
  const answered = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [page] };
  const thinking = { type: 'thinking', thinking: 'hm', signature: 's' };
  const said = { type: 'text', text: 'Found.' };
  const content = [thinking, searched, answered, said, ...call.content];
  const messages = [user({ type: 'text', text: 'x' }), { role: 'assistant', content }, result(said)];
  expect(sent({ messages }).messages[1]!.content).toEqual(content);
  expect(read({ messages }).messages[1]).toMatchObject({
    content: '[server_tool_use web_search {"query":"tides"}]\nTides\nhttps://a.example\nFound.',
    reasoning_content: 'hm',
    tool_calls: [{ id: 'a' }],
  });
  const unsigned = [{ ...thinking, signature: '' }, searched, answered, said];
  const dropped = sent({ messages: [user(said), { role: 'assistant', content: unsigned }, user(said)] });
  expect(dropped.messages[1]!.content).toEqual([searched, answered, said]);
});

verifies('apis.messages.own-content', 'what stands in a wrong place is refused', () => {
  expect(faultOf(() => read({ messages: [user(...call.content)] }))).toMatchObject({
    param: 'messages[0].content[0].type',
  });
  const misplaced = [{ role: 'assistant', content: result(found).content }];
  expect(faultOf(() => read({ messages: misplaced }))).toMatchObject({ param: 'messages[0].content[0].type' });
});

const bash = { type: 'bash_20250124', name: 'bash' };
const web = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
const screen = { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 };
const mine = { name: 'mine', input_schema: { type: 'object' } };

verifies('apis.messages.own-tools', 'sent to Anthropic as they came', () => {
  const body = sent({ tools: [bash, mine, web], tool_choice: { type: 'auto' } });
  expect(body['tools']).toEqual([bash, expect.objectContaining({ name: 'mine' }), web]);
  const chosen = sent({
    tools: [web],
    tool_choice: { type: 'tool', name: 'web_search' },
    thinking: { type: 'enabled', budget_tokens: 1024 },
  });
  expect([chosen['tools'], chosen['tool_choice']]).toEqual([[web], { type: 'tool', name: 'web_search' }]);
  expect(chosen).not.toHaveProperty('thinking');
  expect(sent({ tools: [web], tool_choice: { type: 'none' } })).not.toHaveProperty('tools');
});

verifies('apis.messages.own-tools', 'tools that the caller runs are functions for others', () => {
  const { tools, providerTools } = read({
    tools: [bash, screen, { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }, web],
  });
  expect(tools).toMatchObject([
    { definition: { name: 'bash', parameters: { properties: { command: {}, restart: {} } } } },
    {
      definition: {
        name: 'computer',
        description: expect.stringContaining('800×600'),
        parameters: { required: ['action'] },
      },
    },
    { definition: { name: 'str_replace_based_edit_tool', parameters: { required: ['command', 'path'] } } },
  ]);
  expect(providerTools).toEqual([{ api: 'anthropic', tool: web }]);
  expect(faultOf(() => read({ tools: [web, bash, bash] }))).toMatchObject({ param: 'tools[2].name' });
});
