import { expect } from 'vitest';
import type { ChatMessage } from '#libs/schemas/message.js';
import { ask, text, tool, user } from '../../../../test/support/ask-offline-model.js';
import { verifies } from '../../../../test/verifies.js';

const search = tool('find_tools', { query: text, limit: { type: 'integer' } }, { required: ['query'] });
const invoices = tool('list_invoices', {}, { description: 'Lists the unpaid invoices' });
const request = 'List the unpaid invoices';

const searched: ChatMessage[] = [
  user(request),
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'find_tools', arguments: '{"query":"x"}' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: '{"tools":[{"name":"list_invoices"}]}' },
];

verifies('offline.finds-tools', 'once for what no offered tool does, then it goes on', async () => {
  expect((await ask([user(request)], [search])).calls).toEqual([['find_tools', { query: request }]]);
  expect((await ask([user('列出未付的发票')], [search])).calls).toEqual([['find_tools', { query: '列出未付的发票' }]]);
  expect((await ask(searched, [search, invoices])).calls).toEqual([['list_invoices', {}]]);
  const unfound = await ask(searched, [search]);
  expect([unfound.calls, unfound.text]).toEqual([[], expect.not.stringContaining('find_tools')]);
});

verifies('offline.finds-tools', 'neither for a greeting, nor without need, nor when it must not', async () => {
  expect((await ask([user('你好')], [search])).calls).toEqual([]);
  expect((await ask([user(request)], [search, invoices])).calls).toEqual([['list_invoices', {}]]);
  expect((await ask([user(request)], [search], { toolChoice: 'none' })).calls).toEqual([]);
  const forced = await ask([user(request)], [search], { toolChoice: { name: 'find_tools' } });
  expect(forced.calls.map(([name]) => name)).toEqual(['find_tools']);
});
