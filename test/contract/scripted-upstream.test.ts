import { afterEach, expect, test } from 'vitest';
import {
  startScriptedUpstream,
  type Script,
  type ScriptedUpstream,
  type ScriptedUpstreamOptions,
} from '../support/scripted-upstream.js';

let upstream: ScriptedUpstream;
afterEach(() => upstream.close());

async function start(script: Script, options?: ScriptedUpstreamOptions): Promise<void> {
  upstream = await startScriptedUpstream(script, options);
}

const ask = (body: object, signal: AbortSignal | null = null) =>
  fetch(`${upstream.baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body), signal });

test('plays plain answers whole and streamed, then says that the script is over', async () => {
  await start([
    { text: 'one' },
    { text: ['t', 'wo'], toolCalls: [{ name: 'echo', arguments: { a: 1 } }], splitBytes: 3 },
  ]);
  expect(await (await ask({})).json()).toMatchObject({
    choices: [{ message: { content: 'one' }, finish_reason: 'stop' }],
  });
  const stream = await (await ask({ stream: true })).text();
  expect(stream).toContain('"content":"wo"');
  expect(stream).toContain('"finish_reason":"tool_calls"');
  expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
  expect((await ask({})).status).toBe(500);
  expect(upstream.requests.map((request) => request.body)).toEqual([{}, { stream: true }, {}]);
});

test.each(['fin', 'rst'] as const)('cuts a stream by %s after what was sent', async (end) => {
  await start([{ text: 'half', end }]);
  const reader = (await ask({ stream: true })).body!.getReader();
  let text = '';
  await expect(
    (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += Buffer.from(value).toString();
      }
    })(),
  ).rejects.toThrow();
  if (end === 'fin') expect(text).toContain('half');
});

test('tells when the client has gone, and waits for a promise between chunks', async () => {
  let goOn = () => {};
  await start((_request, number) =>
    number === 1
      ? { text: 'x', end: 'stall' }
      : { chunks: [{ first: true }, new Promise<void>((resolve) => (goOn = resolve)), { last: true }] },
  );
  const leaving = new AbortController();
  const first = ask({ stream: true }, leaving.signal);
  await first;
  leaving.abort();
  await (
    await upstream.received(1)
  ).clientGone;
  const second = await ask({ stream: true });
  goOn();
  expect(await second.text()).toBe('data: {"first":true}\n\ndata: {"last":true}\n\n');
});

test('lists models, or has no list', async () => {
  await start([], { models: ['a'] });
  expect(await (await fetch(`${upstream.baseUrl}/models`)).json()).toMatchObject({ data: [{ id: 'a' }] });
});
