// The bytes of a stream as they arrive: nothing is buffered, keep-alives break silence, and an error comes last.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import { functionTool, user } from '../support/chat-client.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
/** A second gateway with a short keep-alive interval. */
let nervous: string;
/** A page that is sent when `page.send` is called. */
let slowPage: Server;
let sendPage: () => void = () => undefined;
/** The upstream's next answer. */
let next: (request: ReceivedRequest) => ScriptedAnswer;

beforeAll(async () => {
  slowPage = createServer((_request, reply) => {
    sendPage = () => void reply.writeHead(200, { 'content-type': 'text/plain' }).end('slow page');
  });
  await new Promise<void>((resolve) => slowPage.listen(0, '127.0.0.1', resolve));
  const { port } = slowPage.address() as AddressInfo;
  box = await startSignalbox({
    script: (request) => next(request),
    environment: { TOOLS_FETCH_ALLOW: `127.0.0.1:${port}` },
  });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, api_key: 'sk-scripted', max_retries: 0 };
  const gateway = await box.startGateway({
    MODELS_PROVIDERS: JSON.stringify({ scripted: provider }),
    SERVER_KEEP_ALIVE_MS: '150',
    SERVER_HEADERS_AFTER_MS: '300',
    SERVER_STUCK_READER_MS: '1000',
  });
  nervous = gateway.url;
  await toolsReady(nervous);
});
afterAll(async () => {
  await box?.close();
  slowPage?.closeAllConnections();
  slowPage?.close();
});

const frame = (delta: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-stream',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'scripted',
  choices: [{ index: 0, delta, finish_reason }],
});

/** The bytes of an answer as they arrive. */
class Arriving {
  text = '';
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly decoder = new TextDecoder();

  constructor(readonly answer: Response) {
    this.reader = answer.body!.getReader();
  }

  /** Reads until the text has arrived. @throws Error after `timeoutMs`, or if the answer ended before */
  async until(expected: string | RegExp, timeoutMs = 5_000): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const late = new Promise<never>((_resolve, reject) => {
      deadline.addEventListener('abort', () => reject(new Error(`no ${expected} in ${timeoutMs} ms: ${this.text}`)));
    });
    const found = () => (typeof expected === 'string' ? this.text.includes(expected) : expected.test(this.text));
    while (!found()) {
      const { done, value } = await Promise.race([this.reader.read(), late]);
      if (done) throw new Error(`ended without ${expected}: ${this.text}`);
      this.text += this.decoder.decode(value, { stream: true });
    }
  }

  async end(timeoutMs = 10_000): Promise<string> {
    await this.until(/$never/, timeoutMs).catch((error: Error) => {
      if (!error.message.startsWith('ended')) throw error;
    });
    return this.text;
  }
}

const ask = async (path: string, more: object = {}, origin = box.url): Promise<Arriving> => {
  const body = { model: 'scripted/model', messages: [user('go')], stream: true, ...more };
  return new Arriving(await postJson(`${origin}${path}/chat/completions`, body));
};

function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const timeEntry = { type: 'mcp', server_label: 'workspace', allowed_tools: ['get_time', 'fetch'] };
const offers: [string, object][] = [
  ['without tools', {}],
  ['with client tools', { tools: [functionTool('lookup', 'Looks up')] }],
  ['with server tools', { tools: [timeEntry] }],
];

for (const path of ['/v1', '/api']) {
  for (const [what, offer] of offers) {
    verifies('chat.stream.arrival', `text, ${path}, ${what}`, async () => {
      const [first, second] = [gate(), gate()];
      // The upstream waits until its words have arrived at the client.
      next = () => ({
        chunks: [
          frame({ role: 'assistant', content: '' }),
          frame({ reasoning_content: 'thought-a' }),
          first.opened,
          frame({ content: 'word-b' }),
          second.opened,
          frame({ content: 'word-c' }, 'stop'),
          'data: [DONE]\n\n',
        ],
      });
      const stream = await ask(path, offer);
      await stream.until('thought-a');
      expect(stream.text).not.toContain('word-b');
      first.open();
      await stream.until('word-b');
      expect(stream.text).not.toContain('word-c');
      second.open();
      expect(await stream.end()).toMatch(/word-c[\s\S]*data: \[DONE\]\n\n$/);
    });
  }

  verifies('chat.stream.arrival', `text after a tool round, ${path}`, async () => {
    const later = gate();
    next = (request) =>
      (request.body['messages'] as { role: string }[]).at(-1)!.role === 'tool'
        ? {
            chunks: [
              frame({ content: 'word-a' }),
              later.opened,
              frame({ content: 'word-b' }, 'stop'),
              'data: [DONE]\n\n',
            ],
          }
        : { toolCalls: [{ name: 'get_time', arguments: { offset_ms: 0 } }] };
    const stream = await ask(path, { tools: [timeEntry] });
    await stream.until('word-a');
    later.open();
    expect(await stream.end()).toContain('word-b');
  });

  verifies('chat.stream.arrival', `fragments of a client call, ${path}`, async () => {
    const [named, half] = [gate(), gate()];
    const part = (call: object) => frame({ tool_calls: [{ index: 0, ...call }] });
    next = () => ({
      chunks: [
        part({ id: 'u1', type: 'function', function: { name: 'lookup', arguments: '' } }),
        named.opened,
        part({ function: { arguments: '{"key":' } }),
        half.opened,
        part({ function: { arguments: '"北京"}' } }),
        frame({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ],
    });
    const stream = await ask(path, { tools: [functionTool('lookup', 'Looks up')] });
    await stream.until('"name":"lookup"');
    named.open();
    await stream.until(String.raw`{\"key\":`);
    expect(stream.text).not.toContain('北京');
    half.open();
    expect(await stream.end()).toContain('北京');
  });

  verifies('chat.stream.error-is-last', `cut in mid-answer, ${path}`, async () => {
    next = () => ({ text: ['word-a', 'word-b'], finishReason: null, usage: null, end: 'rst' });
    const stream = await ask(path);
    expectErrorLast(stream, await stream.end(), 'model_stream_cut');
  });

  verifies('chat.stream.error-is-last', `cut after a tool round, ${path}`, async () => {
    next = (request) =>
      (request.body['messages'] as { role: string }[]).at(-1)!.role === 'tool'
        ? { text: 'word-a', finishReason: null, usage: null, end: 'fin' }
        : { toolCalls: [{ name: 'get_time', arguments: {} }] };
    const stream = await ask(path, { tools: [timeEntry] });
    expectErrorLast(stream, await stream.end(), 'model_stream_cut');
  });

  verifies('chat.stream.error-is-last', `what fails before the first event is a status, ${path}`, async () => {
    next = () => ({ refuse: 'rst' });
    const stream = await ask(path);
    expect(stream.answer.status).toBe(502);
    expect(stream.answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(JSON.parse(await stream.end())).toMatchObject({ error: { type: 'upstream_error' } });
  });

  verifies('chat.stream.keep-alive', `silence before the first word and between two, ${path}`, async () => {
    const [first, second] = [gate(), gate()];
    next = () => ({
      before: first.opened,
      chunks: [frame({ content: 'word-a' }), second.opened, frame({ content: 'word-b' }, 'stop'), 'data: [DONE]\n\n'],
    });
    // The headers arrive before the upstream has started to answer.
    const stream = await ask(path, {}, nervous);
    expect(stream.answer.headers.get('content-type')).toBe('text/event-stream');
    await stream.until(/(?:: keep-alive\n\n){2}/);
    expect(stream.text).not.toContain('data:');
    first.open();
    await stream.until('word-a');
    await stream.until(/word-a[\s\S]*(?:: keep-alive\n\n){2}/);
    second.open();
    const text = await stream.end();
    expect(text).toMatch(/word-b[\s\S]*data: \[DONE\]\n\n$/);
    for (const event of text.split('\n\n').slice(0, -1))
      expect(event).toMatch(/^(?:: keep-alive|(?:id: \d+\n)?data: .+)$/);
  });

  verifies('chat.stream.keep-alive', `silence of a tool, ${path}`, async () => {
    const { port } = slowPage.address() as AddressInfo;
    next = (request) =>
      (request.body['messages'] as { role: string }[]).at(-1)!.role === 'tool'
        ? { text: 'word-a' }
        : { toolCalls: [{ name: 'fetch', arguments: { url: `http://127.0.0.1:${port}/` } }] };
    const asked = once(slowPage, 'request');
    const stream = await ask(path, { tools: [timeEntry] }, nervous);
    await stream.until(/(?:: keep-alive\n\n){3}/);
    await asked;
    expect(stream.text).not.toContain('word-a');
    sendPage();
    expect(await stream.end()).toMatch(/word-a[\s\S]*data: \[DONE\]\n\n$/);
  });

  verifies('chat.stream.keep-alive', `a failure after early headers is an event, ${path}`, async () => {
    const refusal = gate();
    next = () => ({ before: refusal.opened, status: 500, json: { error: { message: 'broken' } } });
    const stream = await ask(path, {}, nervous);
    expect(stream.answer.status).toBe(200);
    await stream.until(': keep-alive');
    refusal.open();
    expectErrorLast(stream, await stream.end(), 'model_error');
  });
}

function expectErrorLast({ answer }: Arriving, text: string, code: string): void {
  expect(answer.status).toBe(200);
  expect(text.endsWith('\n\n')).toBe(true);
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  const last = JSON.parse(data.at(-1)!.slice('data: '.length)) as { error: Record<string, unknown> };
  expect(Object.keys(last)).toEqual(['error']);
  expect(last.error).toMatchObject({ code, request_id: answer.headers.get('x-request-id') });
  expect(last.error['message']).toMatch(/./);
  expect(data.filter((line) => line.includes('"error"'))).toHaveLength(1);
  expect(text).not.toContain('[DONE]');
  expect(text).not.toContain('"type":"done"');
  expect(text).not.toMatch(/"finish_reason":"/);
}

verifies('chat.stream.arrival', 'a server call is told fragment by fragment and runs when it is complete', async () => {
  const pieces = ['{"', 'offset', '_ms":', '-864', '000', '00}'];
  const gates = pieces.map(() => gate());
  const part = (call: object) => frame({ tool_calls: [{ index: 0, ...call }] });
  next = (request) =>
    (request.body['messages'] as { role: string }[]).at(-1)!.role === 'tool'
      ? { text: 'Yesterday.' }
      : {
          chunks: [
            frame({ role: 'assistant', content: '' }),
            part({ id: 'call_0_85f3728d', type: 'function', function: { name: 'get_time', arguments: '' } }),
            ...pieces.flatMap((text, at) => [gates[at]!.opened, part({ function: { arguments: text } })]),
            frame({ content: '' }, 'tool_calls'),
            'data: [DONE]\n\n',
          ],
        };
  const stream = await ask('/api', { tools: [functionTool('get_time', 'Tells the time', { type: 'object' })] });
  await stream.until('"name":"get_time"');
  let reported = '';
  for (const [at, text] of pieces.entries()) {
    gates[at]!.open();
    if (at === pieces.length - 1) break;
    reported = JSON.stringify(text).slice(1, -1);
    await stream.until(`"arguments":"${reported}"`);
    expect(stream.text).not.toContain('tool_progress');
  }
  const text = await stream.end();
  expect(text.match(/"type":"tool_result"/g)).toHaveLength(1);
  expect(text).toMatch(/"tools_called":\["get_time"\][\s\S]*"rounds":2/);
  // The client's own list of calls stays empty: it would run them again.
  const events = text.split('\n').filter((line) => line.startsWith('data: {'));
  for (const line of events) {
    const { choices } = JSON.parse(line.slice(6)) as { choices: { delta: object }[] };
    expect(choices[0]!.delta).not.toHaveProperty('tool_calls');
  }
});

verifies(
  'reliability.stuck-readers',
  'a turn: its upstream is left, its run says so, and can be read again',
  async () => {
    // More than the system buffers for a connection, so that the rest waits in the gateway.
    const piece = frame({ content: 'x'.repeat(60_000) });
    next = () => ({ chunks: Array.from({ length: 600 }, () => piece), end: 'stall' });
    const number = box.upstream.requests.length + 1;
    const body = JSON.stringify({ stream: true, messages: [user('x')] });
    const { hostname, port } = new URL(nervous);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    try {
      const head = ['POST /v1/chat/completions HTTP/1.1', 'host: localhost', 'content-type: application/json'];
      const more = [...head, 'idempotency-key: unread', `content-length: ${body.length}`];
      socket.write(`${more.join('\r\n')}\r\n\r\n${body}`);
      await (
        await box.upstream.received(number)
      ).clientGone;
      const [{ id }] = (await box.rows<{ id: string }>('select id from runs order by created_at desc limit 1')) as [
        { id: string },
      ];
      const run = async () => (await fetch(`${nervous}/api/runs/${id}`)).json() as Promise<object>;
      await expect
        .poll(run, { timeout: 10_000 })
        .toMatchObject({ state: 'interrupted', error: { code: 'cancelled', message: 'The client has gone' } });
      const events = await fetch(`${nervous}/api/runs/${id}/events`, { headers: { 'last-event-id': '2' } });
      expect(await events.text()).toMatch(/^id: 3\n[\s\S]*"error"/);
      const metrics = await (await fetch(`${nervous}/metrics`)).text();
      expect(metrics).toContain('signalbox_rate_limited_total{limit="stuck_readers"} 1');
    } finally {
      socket.destroy();
    }
  },
);
