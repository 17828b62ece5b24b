// What is found by words: names in all their forms, Chinese, only what is shown, and in bounded time whatever definitions say.
import { expect, test } from 'vitest';
import { toolIndexOf, ToolIndex, type SearchableTool } from './tool-index.js';

const tool = (server: string, name: string, description = '', parameters: object = {}): SearchableTool => ({
  server,
  tool: name,
  name,
  description,
  inputSchema: { type: 'object', properties: { ...parameters } },
});

const tools = [
  tool('files', 'read_file', 'Read a file of the workspace.'),
  tool('billing', 'list_invoice', 'All invoices of a customer.'),
  tool('billing', 'createRefund', 'Pays a customer back.'),
  tool('chat', 'post-message', 'Sends a text to a channel.', { channel: { type: 'string', description: 'Its name.' } }),
];
const namesOf = (query: string, given = tools) =>
  new ToolIndex(given).find(query, { limit: 5 }).map(({ tool: found }) => found.name);

test.each([
  ['list the invoices', 'list_invoice'],
  ['creating refunds', 'createRefund'],
  ['refund', 'createRefund'],
  ['Posting messages', 'post-message'],
  ['channel', 'post-message'],
  ['读取文件', 'read_file'],
  ['帮我 read 一下这个文件', 'read_file'],
])('%s finds %s', (query, name) => {
  expect(namesOf(query)[0]).toBe(name);
});

test('what has no words finds nothing', () => {
  for (const query of ['', '   ', '???', 'the of and', 'xylophone']) expect(namesOf(query)).toEqual([]);
});

test('a tool that is not shown is not found, and does not take the place of another', () => {
  const found = new ToolIndex(tools).find('customer', { limit: 1, isShown: ({ name }) => name !== 'list_invoice' });
  expect(found.map(({ tool: { name } }) => name)).toEqual(['createRefund']);
});

test('a list has one index', () => {
  expect(toolIndexOf(tools)).toBe(toolIndexOf(tools));
  expect(toolIndexOf([...tools])).not.toBe(toolIndexOf(tools));
});
