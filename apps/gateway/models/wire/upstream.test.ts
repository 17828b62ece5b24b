import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect } from 'vitest';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import { asking, calling, errorOf, provider, start, use } from '../../../../test/fixtures/openai-setup.js';
import { verifies } from '../../../../test/verifies.js';
import { openUpstream } from './upstream.js';
import type { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpAnswer } from '#libs/http-client/outgoing.js';

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A transport to a server that responds to the first bytes of each connection with `answer`. */
async function transportTo(answer: (socket: Socket) => void, maxConcurrency = 10): Promise<HttpClient> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bounds = { connect: 1_000, first_byte: 2_000, idle: 2_000 };
  const sources = { address: 'UP_URL', key: 'UP_KEY' };
  const transport = openUpstream(
    { name: 'up', origin: baseUrl, sources, hasKey: true },
    { baseUrl, headers: {} },
    { timeout_ms: bounds, max_concurrency: maxConcurrency, max_response_bytes: 10_000_000 },
  );
  // Lets the fixture's hook close this test's provider.
  use(baseUrl);
  closing.push(
    () => void server.close(),
    () => transport.close(),
  );
  return transport;
}

const open = (transport: HttpClient, signal = new AbortController().signal) =>
  transport.open({ method: 'GET', path: '/' }, { signal, deadline: Date.now() + 10_000 }, 0);

async function readAll(answer: HttpAnswer): Promise<number> {
  let bytes = 0;
  await answer.read((piece) => {
    bytes += piece.length;
    return undefined;
  });
  return bytes;
}

const sizes = [100, 50 + 65_536, 50 + 65_536 * 2, 300_000, 2_000_000];
const framings: [string, (body: Buffer) => [string, Buffer]][] = [
  ['content-length', (body) => [`content-length: ${body.length}\r\nconnection: close`, body]],
  ['content-length, kept alive', (body) => [`content-length: ${body.length}`, body]],
  ['until the end', (body) => ['connection: close', body]],
  ['chunked', (body) => ['connection: close\r\ntransfer-encoding: chunked', chunked(body)]],
  ['chunked, kept alive', (body) => ['transfer-encoding: chunked', chunked(body)]],
];
const chunked = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);

for (const [framing, framed] of framings) {
  verifies('models.upstream-closes', `a reader that is held up gets all of it: ${framing}`, async () => {
    await Promise.all(
      sizes.map(async (size) => {
        const [headers, body] = framed(Buffer.alloc(size, 'x'));
        const transport = await transportTo((socket) => {
          socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`);
          // The first piece is read immediately; nobody reads the following ones.
          socket.write(body.subarray(0, 50));
          setTimeout(() => socket.end(body.subarray(50)), 30);
        });
        const answer = await open(transport);
        await pause(300);
        expect(await readAll(answer)).toBe(size);
        answer.close(true);
      }),
    );
  });
}

for (const headers of ['connection: close\r\ncontent-length: 900000', 'content-length: 900000']) {
  verifies(
    'models.upstream-closes',
    `a reset while the reader is held up is an error: ${headers.replace('\r\n', ', ')}`,
    async () => {
      const transport = await transportTo((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`);
        socket.write(Buffer.alloc(400_000, 'x'), () => setTimeout(() => socket.resetAndDestroy(), 50));
      });
      const answer = await open(transport);
      await pause(300);
      await expect(readAll(answer)).rejects.toMatchObject({ code: 'model_stream_cut' });
      answer.close();
    },
  );
}

verifies('models.upstream-closes', 'an answer that nobody reads, and one that is left unread', async () => {
  const transport = await transportTo((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 65536\r\nconnection: close\r\n\r\n');
    socket.end(Buffer.alloc(65_536, 'x'));
  });
  const [first, second, third] = await Promise.all([open(transport), open(transport), open(transport)]);
  await pause(200);
  first.close(true);
  second.close();
  await pause(50);
  expect(await readAll(third)).toBe(65_536);
  third.close(true);
});

verifies('models.upstream-closes', 'a slow chat client, streamed', async () => {
  const headers = { connection: 'close' };
  const text = Array.from({ length: 8 }, () => 'x'.repeat(32_000));
  await start([{ text, headers }]);
  const events: ModelEvent[] = [];
  for await (const event of oneByOne((take) => provider.call(asking(), calling(), take))) {
    events.push(event);
    await pause(40);
  }
  expect(foldEvents(events)).toMatchObject({ text: text.join(''), finish: 'stop' });
});

verifies('models.upstream-closes', 'a whole answer', async () => {
  const text = 'x'.repeat(500_000);
  await start([{ text, headers: { connection: 'close' } }]);
  const events: ModelEvent[] = [];
  for await (const event of oneByOne((take) => provider.call(asking({ stream: false }), calling(), take)))
    events.push(event);
  expect(foldEvents(events)).toMatchObject({ text, finish: 'stop' });
});

verifies('models.upstream-closes', 'connections are used again, one call each', async () => {
  let connections = 0;
  const server = await start((_request, number) => ({ text: `answer ${number}` }));
  for (let round = 0; round < 5; round += 1) {
    for await (const event of oneByOne((take) => provider.call(asking(), calling(), take)))
      expect(event.type).not.toBe('error');
    // The end of the answer, after its [DONE], has not been read yet.
    await pause(20);
    connections = Math.max(connections, server.connections());
  }
  expect(connections).toBe(1);
});

verifies('models.abort', 'a call that is left while it connects', async () => {
  use('http://127.0.0.1:9/v1', { max_retries: 0 });
  const leaving = new AbortController();
  const events = (async () => {
    const list: ModelEvent[] = [];
    for await (const event of oneByOne((take) => provider.call(asking(), calling({ signal: leaving.signal }), take)))
      list.push(event);
    return list;
  })();
  leaving.abort();
  expect((await errorOf(events)).code).toBe('cancelled');
});

verifies(
  'models.concurrency',
  'what only asks for a list is answered while all calls are taken, and takes no place',
  async () => {
    const transport = await transportTo((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx'), 1);
    const call = { signal: new AbortController().signal, deadline: Date.now() + 10_000 };
    const post = () => transport.open({ method: 'POST', path: '/', body: '{}' }, call);
    const lists = [await open(transport)];
    const answer = await post();
    lists.push(await open(transport));
    await expect(post()).rejects.toMatchObject({ code: 'concurrency_exceeded' });
    for (const each of lists) each.close();
    await expect(post()).rejects.toMatchObject({ code: 'concurrency_exceeded' });
    answer.close();
    (await post()).close();
  },
);
