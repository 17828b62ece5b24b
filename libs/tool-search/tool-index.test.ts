// What is found by words: names in all their forms, Chinese, only what is shown, and in bounded time whatever definitions say.
import { expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
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

test.each([
  ['有哪些发票', 'list_invoice'],
  ['给频道发一条消息', 'post-message'],
  ['delete the invoices', 'list_invoice'],
])('Chinese finds English definitions: %s', (query, name) => {
  expect(namesOf(query)[0]).toBe(name);
});

const more = [
  ...tools,
  tool('grafana', 'get_current_oncall_users', 'Users that are on duty.'),
  tool('mongodb', 'list-collections', 'Lists what a database has.'),
  tool('calendar', 'respond_to_event', 'Accepts or declines an invitation.'),
  tool('memory', 'create_entities', 'Creates entities in the knowledge graph.'),
  tool('argocd', 'sync_application', 'Brings it to its target state.'),
  tool('mail', 'send_message', 'Sends a text.'),
  tool('mail', 'search_messages', 'Searches texts.'),
];

test.each([
  ['a phrase', 'turn down the invite', 'respond_to_event'],
  ['a saying', 'remember that I like tea', 'create_entities'],
  ['a saying in Chinese', '记住我喜欢喝茶', 'create_entities'],
  ['two words that are one name', 'who is on call', 'get_current_oncall_users'],
  ['a product in two words', 'Argo CD', 'sync_application'],
  ['the beginning of a word', 'what is in my mongo', 'list-collections'],
  ['a verb at the beginning', 'please message Sam', 'send_message'],
  ['the name of a file', 'open the notes.md', 'read_file'],
  ['a quoted text, which counts less', 'send "search the invoices"', 'send_message'],
  ['nothing but a quoted text', '"search messages"', 'search_messages'],
])('how people ask: %s', (_, query, name) => {
  expect(namesOf(query, more)[0]).toBe(name);
});

test('English finds Chinese definitions, and Chinese finds them by its own words', () => {
  const chinese = [tool('a', 'one', '查询天气预报'), tool('b', 'two', '发送电子邮件')];
  expect(namesOf('weather', chinese)).toEqual(['one']);
  expect(namesOf('电子邮件', chinese)[0]).toBe('two');
});

verifies('tools.search.dictionary', 'a balance sheet, in one word, and a heart rate', () => {
  const given = [
    ...more,
    tool('excel', 'list_sheets', 'Sheets of a workbook.'),
    tool('books', 'list_reports', 'The balance sheet.'),
    tool('sport', 'get_zones', 'Zones of heart rate and power.'),
  ];
  expect(namesOf('资产负债表', given)[0]).toBe('list_reports');
  expect(namesOf('我的心率是多少', given)[0]).toBe('get_zones');
});

verifies('tools.search.server', 'a run, of a server of sports and of another', () => {
  const given = [
    tool('programs', 'get_run', 'Its details.'),
    tool('programs', 'stop_build', 'Ends it.'),
    tool('sport', 'get_run', 'Its details.'),
    tool('sport', 'list_marathons', 'Marathons and their kilometres.'),
  ];
  const found = new ToolIndex(given).find('the run, after how many kilometres', { limit: 4 });
  const runs = found.filter(({ tool: { name } }) => name === 'get_run');
  expect(runs.map(({ tool: { server } }) => server)).toEqual(['sport', 'programs']);
});

verifies('tools.search.bounded', 'a query and definitions of a megabyte, and odd characters', () => {
  const long = 'many words '.repeat(100_000);
  const odd = '\ud800\u0000‮a\u0301'.repeat(1_000);
  let deep: object = { type: 'object', properties: { end: {} } };
  for (let depth = 0; depth < 1_000; depth += 1) deep = { type: 'object', properties: { more: deep } };
  const hostile = [
    tool('x', 'long', long, { [long]: { description: long } }),
    tool('x', 'odd', odd, { [odd]: null, deep, __proto__: { description: 7 } }),
    tool('x', 'broken', 'Broken.', { properties: [], items: 'text' }),
    ...tools,
  ];
  const index = new ToolIndex(hostile);
  const began = performance.now();
  expect(index.find('refund', { limit: 1 })[0]!.tool.name).toBe('createRefund');
  const words = Array.from({ length: 2_000 }, (_, at) => String.fromCodePoint(0x4e00 + 7 * at)).join('');
  for (const query of [long, odd, words, '文'.repeat(1_000_000)]) index.find(query, { limit: 5 });
  expect(index.find(`refund ${long}`, { limit: 5 }).map(({ tool: { name } }) => name)).toContain('createRefund');
  expect(performance.now() - began).toBeLessThan(1_000);
});

verifies('tools.search.many', '10,000 tools of 500 servers', () => {
  const actions = ['list', 'create', 'update', 'delete', 'get'];
  const many = Array.from({ length: 10_000 }, (_, at) =>
    tool(`server${at % 500}`, `${actions[at % 5]!}_thing${at}`, `It does what is asked of thing ${at}. `.repeat(8), {
      id: { type: 'string', description: 'Which one is meant, as the list has it.' },
    }),
  );
  const index = new ToolIndex(many);
  expect(index.find('create thing 7126', { limit: 5 })[0]!.tool.name).toBe('create_thing7126');
  const began = performance.now();
  for (let at = 0; at < 20; at += 1) index.find('帮我创建一个文件 create the thing', { limit: 5 });
  // A few milliseconds each; the bound is for machines with much else to do.
  expect((performance.now() - began) / 20).toBeLessThan(100);
});
