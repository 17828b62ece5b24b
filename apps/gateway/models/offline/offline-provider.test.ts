import { expect, test } from 'vitest';
import type { ChatMessage, ToolCall } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { verifies } from '../../../../test/verifies.js';
import type { ModelRequest } from '../model-provider.js';
import {
  ask,
  converse,
  undoneMark,
  user,
  provider,
  now,
  dayMs,
  readFile,
  writeFile,
  zoneClock,
  loadDocument,
  storeText,
  httpGet,
  deleteFile,
  answerQuestion,
  clock,
  summarize,
  everything,
  type Calls,
} from '../../../../test/support/ask-offline-model.js';

const chains: [request: string, tools: ToolDefinition[], results: Record<string, string>, calls: Calls, says: string[]][] = [
  ['获取 http://127.0.0.1:9/data 的内容，并保存到result.txt文件中', everything, { fetch: '晴，21 度' }, [['fetch', { url: 'http://127.0.0.1:9/data' }], ['write_file', { path: 'result.txt', content: '晴，21 度' }]], ['result.txt', '晴，21 度']],
  ['Fetch http://127.0.0.1:9/data and save it to result.txt', [httpGet, storeText], { http_get: 'sunny' }, [['http_get', { target: 'http://127.0.0.1:9/data' }], ['store_text', { destination: 'result.txt', body: 'sunny' }]], ['result.txt']],
  ['Save https://example.org/x to page.html', everything, { fetch: '<p>hi</p>' }, [['fetch', { url: 'https://example.org/x' }], ['write_file', { path: 'page.html', content: '<p>hi</p>' }]], ['page.html']],
  ['下载 https://example.org/x 保存为 page.html', everything, { fetch: '<p>hi</p>' }, [['fetch', { url: 'https://example.org/x' }], ['write_file', { path: 'page.html', content: '<p>hi</p>' }]], ['page.html']],
  ['Read a.txt then write its contents to b.txt', everything, { read_file: 'alpha' }, [['read_file', { path: 'a.txt' }], ['write_file', { path: 'b.txt', content: 'alpha' }]], ['b.txt']],
  ['把a.txt的内容写到b.txt', everything, { read_file: 'alpha' }, [['read_file', { path: 'a.txt' }], ['write_file', { path: 'b.txt', content: 'alpha' }]], ['b.txt']],
  ['查询成都的天气，然后保存到 w.md', everything, { get_weather: '多云' }, [['get_weather', { city: '成都' }], ['write_file', { path: 'w.md', content: '多云' }]], ['w.md']],
  ['Summarize notes.md', [readFile, summarize], { read_file: 'long text', summarize_text: 'short' }, [['read_file', { path: 'notes.md' }], ['summarize_text', { text: 'long text' }]], ['short']],
  ['Read a.txt and b.txt', [readFile], { read_file: 'body' }, [['read_file', { path: 'a.txt' }], ['read_file', { path: 'b.txt' }]], ['body']],
  ['请读取/srv/settings.json文件并告诉我其中的端口号', [readFile], { read_file: '{"port": 8443, "host": "h1"}' }, [['read_file', { path: '/srv/settings.json' }]], ['端口号是 8443']],
  ['Who is the author in pkg.json?', [readFile], { read_file: '{"author": "Ann", "license": "MIT"}' }, [['read_file', { path: 'pkg.json' }]], ['author is Ann']],
  ['先读取a.md，然后删除它', everything, { read_file: 'abc' }, [['read_file', { path: 'a.md' }], ['delete_file', { path: 'a.md' }]], ['abc']],
  ['昨天的日期是什么？', [clock], { clock_now: String(now - dayMs) }, [['clock_now', { offset_ms: -dayMs }]], ['2027年3月9日', '2027-03-09']],
  ['把"你好"写到 a.txt，然后读出来', everything, { read_file: '你好' }, [['write_file', { path: 'a.txt', content: '你好' }], ['read_file', { path: 'a.txt' }]], ['a.txt', '你好']],
  ['Write "x" to a.txt and then delete b.txt', everything, {}, [['write_file', { path: 'a.txt', content: 'x' }], ['delete_file', { path: 'b.txt' }]], ['a.txt', 'b.txt']],
]; // prettier-ignore

for (const [request, tools, results, calls, says] of chains) {
  verifies('offline.chains', request, async () => {
    const answer = await converse(request, tools, results);
    expect(answer.all).toEqual(calls);
    for (const part of says) expect(answer.text).toContain(part);
    expect(answer.text).not.toMatch(undoneMark);
  });
}

const files = [writeFile, readFile, deleteFile];
const partial: [request: string, calls: string[], undone: string[]][] = [
  ['Write "hi" to a.txt and email it to Bob', ['write_file'], ['email it to Bob']],
  ['把“你好”写到 a.txt，然后发邮件给小王', ['write_file'], ['发邮件给小王']],
  ['把“你好”写到 a.txt，再给妈妈打电话', ['write_file'], ['给妈妈打电话']],
  ['Read a.txt, summarize it, and order a pizza', ['read_file'], ['summarize it', 'order a pizza']],
  ['读取 a.txt，总结一下，再发给小王', ['read_file'], ['总结一下', '发给小王']],
  ['Write a poem to a.txt, then read b.txt', ['read_file'], ['Write a poem to a.txt']],
  ['Read a.txt and write a summary to b.txt', ['read_file'], ['write a summary to b.txt']],
  ['Read a.txt and tell me a joke', ['read_file'], ['tell me a joke']],
  ['Summarize a.txt in German', ['read_file'], ['Summarize a.txt in German']],
  ['Delete a.txt and reboot my machine', ['delete_file'], ['reboot my machine']],
]; // prettier-ignore

for (const [request, calls, undone] of partial) {
  verifies('offline.partial', request, async () => {
    const answer = await converse(request, files, { read_file: 'body' });
    expect(answer.all.map(([name]) => name)).toEqual(calls);
    const [said] = /(?:Not done: |没有做：)(?:“.*?”(?:, |、)?)+/.exec(answer.text)!;
    expect(Array.from(said.matchAll(/“(.*?)”/g), ([, part]) => part)).toEqual(undone);
    expect(said.startsWith(/\p{Script=Han}/u.test(request) ? '没有做' : 'Not done')).toBe(true);
    expect(answer.text).toContain('OPENAI_API_KEY');
  });
}

for (const request of [
  'Write a poem to a.txt and email it to Bob',
  'create a.txt, b.txt and then summarise them in German',
  '写一首诗到 a.txt 并发邮件给小王',
  '创建 a.txt 和 b.txt，然后用德语总结它们',
]) {
  verifies('offline.partial', `nothing of “${request}”`, async () => {
    const { text, all } = await converse(request, files, {});
    expect(all).toEqual([]);
    expect(text).toMatch(/^(?:Nothing of this was done: .*|什么都没有做：.*)`write_file`.*content/);
  });
}

verifies('offline.partial', 'what waits for a step that failed', async () => {
  const { text } = await converse('Read nothing.md and save it to b.txt', files, { read_file: 'ENOENT' }, [
    'read_file',
  ]);
  expect(text).toContain('Not done: “save it to b.txt”.\n');
});

verifies('offline.partial', 'where no tools are offered any more, as at a limit of the turn', async () => {
  const request = user('Write "x" to a.txt and then delete a.txt');
  const { calls } = await ask([request], files);
  const [[name, given]] = calls as [[string, unknown]];
  const made: ToolCall = { id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(given) } };
  const { text } = await ask([
    request,
    { role: 'assistant', content: null, tool_calls: [made] },
    { role: 'tool', tool_call_id: 'c1', content: 'ok' },
  ]);
  expect(text).toMatch(/^Done: `write_file` \(a\.txt\): ok\n\nNot done: “delete a\.txt”\.\n/);
});

const inTokyo = '1804671000000\nWednesday, 2027-03-10 18:30:00 UTC+09:00 (Asia/Tokyo)';
const zoned: [request: string, result: string, says: string][] = [
  ['What time is it in Tokyo?', inTokyo, 'It is Wednesday, 10 March 2027 at 18:30:00 (2027-03-10, Asia/Tokyo).'],
  ['东京现在几点？', inTokyo, '是 2027年3月10日星期三 18:30:00（2027-03-10，Asia/Tokyo）。'],
  ['What time is it?', '1804671000000\nWednesday, 2027-03-10 09:30:00 UTC', 'It is Wednesday, 10 March 2027 at 09:30:00 (2027-03-10, UTC).'],
]; // prettier-ignore

for (const [request, result, says] of zoned) {
  verifies('offline.answers-from-results', `${request} ${result.slice(0, 20)}`, async () => {
    const { text } = await converse(request, [zoneClock], { get_time: result });
    expect(text.split('\n')[0]).toBe(says);
  });
}

verifies('offline.chains', 'one call for each place whose time is asked for', async () => {
  const { all } = await converse('What time is it in Tokyo and in Berlin?', [zoneClock], { get_time: inTokyo });
  expect(all.map(([, given]) => given)).toEqual([{ timezone: 'Asia/Tokyo' }, { timezone: 'Europe/Berlin' }]);
});

verifies(
  'offline.failure',
  'a missing file is said to be missing, in the language of the request, and not tried again',
  async () => {
    const zh = await converse('读取nothing.md文件', [readFile], { read_file: 'ENOENT: no such file' }, ['read_file']);
    expect(zh.all).toHaveLength(1);
    expect(zh.text).toContain('nothing.md 不存在');
    const en = await converse('Read nothing.md and save it to b.txt', everything, {
      read_file: '{"error": "File not found"}',
    });
    expect(en.all).toHaveLength(1);
    expect(en.text).toContain('nothing.md does not exist');
  },
);

verifies('offline.answers-from-results', 'a follow-up without tools', async () => {
  const call: ToolCall = {
    id: 'c1',
    type: 'function',
    function: { name: 'read_file', arguments: '{"path":"/srv/app.json"}' },
  };
  const history: ChatMessage[] = [
    user('请读取/srv/app.json文件并告诉我其中的版本号'),
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: '{"version": "7.4.2", "name": "Other", "author": "Li"}' },
  ];
  const answer = await ask(history);
  expect(answer.text).toContain('版本号是 7.4.2');
  expect(answer.text).toContain('离线模型');
  const later = await ask([...history, { role: 'assistant', content: answer.text }, user('作者是谁？')]);
  expect(later.text).toContain('作者是 Li');
});

verifies('offline.answers-from-results', 'a long text is quoted up to a bound', async () => {
  const answer = await converse('Read long.txt', [readFile], { read_file: 'word '.repeat(10_000) });
  expect(answer.text).toContain('word word');
  expect(answer.text.length).toBeLessThan(4500);
});

verifies('offline.tool-choice', 'none, required, named', async () => {
  expect((await ask([user('Read notes.md')], [readFile], { toolChoice: 'none' })).calls).toEqual([]);
  expect((await ask([user('I like trains')], [answerQuestion, deleteFile], { toolChoice: 'required' })).calls).toEqual([
    ['answer_question', { question: 'I like trains' }],
  ]);
  expect(
    (await ask([user('Read notes.md')], [readFile, loadDocument], { toolChoice: { name: 'load_document' } })).calls,
  ).toEqual([['load_document', { location: 'notes.md' }]]);
});

verifies('offline.tool-choice', 'one call at a time without parallel calls', async () => {
  expect((await ask([user('Read a.txt and b.txt')], [readFile], { parallelToolCalls: false })).calls).toEqual([
    ['read_file', { path: 'a.txt' }],
  ]);
});

verifies('offline.bounds', 'max_tokens ends a text with length, and a call before it is complete', async () => {
  const short = await ask([user('你好')], [], { parameters: { max_tokens: 5 } });
  expect([short.finish, short.text.length]).toEqual(['length', 5]);
  const cut = await ask([user('Read notes.md')], [readFile], { parameters: { max_tokens: 2 } });
  expect([cut.finish, cut.calls]).toEqual(['length', []]);
  expect(cut.events.some((event) => event.type === 'tool_call_start')).toBe(true);
  expect((await ask([user('你好')], [], { parameters: { stop: ['我是'] } })).text).toBe('你好！');
});

verifies('offline.structured', 'response_format json_object and json_schema', async () => {
  expect(
    JSON.parse((await ask([user('你好')], [], { parameters: { response_format: { type: 'json_object' } } })).text),
  ).toHaveProperty('answer');
  const schema = {
    type: 'object',
    properties: { amount: { type: 'number' }, city: { type: 'string' } },
    required: ['amount', 'city'],
    additionalProperties: false,
  };
  const answer = await ask([user('amount is 12, city is Rome')], [], {
    parameters: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
  });
  expect(JSON.parse(answer.text)).toEqual({ amount: 12, city: 'Rome' });
});

verifies('offline.stream', 'events in order, text in several pieces, the same each time, usage counted', async () => {
  const first = await ask([user('你好')]);
  expect(first.events).toEqual((await ask([user('你好')])).events);
  expect(first.events[0]!.type).toBe('message_start');
  expect(first.events.filter((event) => event.type === 'text_delta').length).toBeGreaterThan(2);
  expect(first.events.slice(-2).map((event) => event.type)).toEqual(['usage', 'message_end']);
  expect(first.text).toMatch(/\p{Script=Han}/u);
  const called = await ask([user('Read notes.md')], [readFile]);
  expect(called.events.map((event) => event.type)).toEqual(
    expect.arrayContaining(['tool_call_start', 'tool_call_delta', 'tool_call_end']),
  );
});

verifies('offline.stream', 'the signal ends it', async () => {
  const stop = new AbortController();
  const events: ModelEvent[] = [];
  const request: ModelRequest = {
    model: 'offline',
    messages: [user('你好')],
    tools: [],
    stream: true,
    parameters: {},
    unknown: {},
  };
  for await (const event of oneByOne((take) =>
    provider.call(request, { requestId: 'r', deadline: now, signal: stop.signal }, take),
  )) {
    events.push(event);
    if (event.type === 'text_delta') stop.abort();
  }
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'cancelled' } });
});

test('a request without text', async () => {
  expect((await ask([{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }])).finish).toBe(
    'stop',
  );
});

verifies('offline.bounds', 'a request longer than it reads is never written in part', async () => {
  const request = `Write this to a.txt: ${'word '.repeat(5000)}`;
  expect((await ask([user(request)], everything)).calls).toEqual([]);
});
