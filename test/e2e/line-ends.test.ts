// Line ends that only some clients know, in streamed text: raw ones would split an event for them.
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { user } from '../support/chat-client.js';
import { verifies } from '../verifies.js';

const odd = 'a\u2028b\u2029c\u0085d';
let box: SignalboxHere;
beforeAll(async () => {
  box = await startSignalboxHere({ script: () => ({ text: [odd] }) });
});
afterAll(() => box?.close());

verifies('chat.stream.line-ends', 'line ends of other languages come as escapes, at every door', async () => {
  const messages = [user('hello')];
  const requests: [string, object][] = [
    ['/v1/chat/completions', { messages, stream: true }],
    ['/api/chat/completions', { messages, stream: true }],
    ['/v1/messages', { messages, stream: true, max_tokens: 9 }],
    ['/v1/responses', { input: 'hello', stream: true }],
  ];
  for (const [path, body] of requests) {
    const text = await (await postJson(`${box.url}${path}`, { model: 'scripted/m', ...body })).text();
    expect([path, text]).toEqual([path, expect.stringContaining('a\\u2028b\\u2029c\\u0085d')]);
    expect(text).not.toMatch(/[\u2028\u2029\u0085]/);
  }
  const called = await fetch(`${box.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'write_file', arguments: { path: `${odd}.txt`, content: odd } },
    }),
  });
  const text = await called.text();
  expect([called.headers.get('content-type'), text]).toEqual([
    'text/event-stream',
    expect.stringContaining('a\\u2028b'),
  ]);
  expect(text).not.toMatch(/[\u2028\u2029\u0085]/);
});
