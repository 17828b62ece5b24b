import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import { AddressGuard } from './address-guard.js';
import { HttpClient } from './http-client.js';
import type { HttpClientOptions, HttpFailure } from './outgoing.js';
import { streamOf } from './stream-of.js';

class Failed extends Error {
  constructor(readonly failure: HttpFailure) {
    super(failure.what);
  }
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that responds to the first bytes of each connection with `answer`. */
async function serve(answer: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    closing.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => server.close());
  return server;
}

function clientOf(server: Server, options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = new HttpClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers: {},
    timeoutMs: { connect: 1_000, first_byte: Infinity, idle: Infinity },
    keepAliveMs: 1_000,
    maxExchanges: 10,
    maxBytes: Infinity,
    opensAt: 'headers',
    toError: (failure) => new Failed(failure),
    ...options,
  });
  closing.push(() => client.close());
  return client;
}

const get = (client: HttpClient) =>
  client.open({ method: 'GET', path: '/' }, { signal: new AbortController().signal, deadline: steadyNow() + 20_000 });

async function bytesOf(client: HttpClient): Promise<number> {
  let bytes = 0;
  const answer = await get(client);
  await answer.read((piece) => void (bytes += piece.length));
  answer.close(true);
  return bytes;
}

const ok = 'HTTP/1.1 200 OK\r\n';
const failure = (kind: HttpFailure['kind']) => ({ failure: expect.objectContaining({ kind }) as unknown });

/** Waits until sent bytes have arrived: each turn of the event loop reads a socket once. */
async function arrival(): Promise<undefined> {
  for (let turns = 0; turns < 100; turns += 1) await turn();
  return undefined;
}

// undici's own pause would crash the process here, because its parser is finished while paused.
for (const [announced, sent] of [
  [200_000, 65_536],
  [1_000_000, 300_000],
  [65_536, 65_536],
] as const) {
  test(`a server announces ${announced} bytes, sends ${sent} and closes while nobody reads`, async () => {
    const server = await serve((socket) => {
      socket.write(`${ok}content-length: ${announced}\r\nconnection: close\r\n\r\n`);
      socket.end(Buffer.alloc(sent));
    });
    const answer = await get(clientOf(server));
    await arrival();
    const sizes: number[] = [];
    const read = answer.read((piece) => {
      sizes.push(piece.length);
      return arrival();
    });
    if (announced === sent) await read;
    else await expect(read).rejects.toMatchObject(failure('cut'));
    answer.close();
    expect(sizes.reduce((sum, size) => sum + size)).toBe(sent);
    // The server was slowed down: little was read ahead.
    expect(Math.max(...sizes)).toBeLessThan(150_000);
  });
}

const endless = (socket: Socket, head: string, piece: string) => {
  socket.write(head);
  const pieces = piece.repeat(Math.ceil(65_536 / piece.length));
  const more = () => {
    while (!socket.destroyed && socket.write(pieces));
  };
  socket.on('drain', more);
  more();
};

const answers: [string, HttpFailure['kind'], (socket: Socket) => void][] = [
  ['a status line without end', 'noise', (socket) => endless(socket, 'HTTP/1.1 200 ', 'x')],
  ['answers 1xx without end', 'noise', (socket) => endless(socket, '', 'HTTP/1.1 102 Processing\r\n\r\n')],
  ['an extension of a chunk without end', 'noise', (socket) => endless(socket, `${ok}${chunked}1;`, 'x')],
  ['headers without end', 'not_http', (socket) => endless(socket, ok, 'a: b\r\n')],
  ['trailers without end', 'not_http', (socket) => endless(socket, `${ok}${chunked}0\r\n`, 'a: b\r\n')],
  ['another protocol', 'not_http', (socket) => socket.end('SSH-2.0-OpenSSH\r\n')],
  ['a status that is none', 'not_http', (socket) => socket.end('HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n')],
  ['nothing, and an end', 'lost', (socket) => socket.end()],
  ['a reset', 'lost', (socket) => socket.resetAndDestroy()],
  // The one 1xx answer that undici does not accept, because no request asked for it.
  ['100 Continue', 'lost', (socket) => socket.end(`HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 0\r\n\r\n`)],
];
const chunked = 'transfer-encoding: chunked\r\n\r\n';
for (const [name, kind, answer] of answers) {
  test(`${name}: ${kind}`, async () => {
    await expect(bytesOf(clientOf(await serve(answer)))).rejects.toMatchObject(failure(kind));
  });
}

test('a body that lasts until the connection closes is cut by a reset', async () => {
  const server = await serve((socket) => {
    socket.write(`${ok}connection: close\r\n\r\nhalf`);
    void read.then(() => socket.resetAndDestroy());
  });
  let seen = () => undefined as void;
  const read = new Promise<void>((resolve) => (seen = resolve));
  const answer = await get(clientOf(server));
  const all = answer.read(() => {
    seen();
    return undefined;
  });
  await expect(all).rejects.toMatchObject(failure('cut'));
  answer.close();
});

test('much of a body is no noise', async () => {
  const body = Array.from({ length: 1_000 }, () => `1;${'x'.repeat(1_000)}\r\ny\r\n`).join('');
  expect(await bytesOf(clientOf(await serve((socket) => socket.end(`${ok}${chunked}${body}0\r\n\r\n`))))).toBe(1_000);
});

test('many answers without a body on one connection are no noise', async () => {
  let connections = 0;
  const server = await serve((socket) => {
    connections += 1;
    const say = () => socket.write(`HTTP/1.1 202 Accepted\r\nx: ${'x'.repeat(8_000)}\r\ncontent-length: 0\r\n\r\n`);
    socket.on('data', say);
    say();
  });
  const client = clientOf(server);
  for (let calls = 0; calls < 100; calls += 1) expect(await bytesOf(client)).toBe(0);
  expect(connections).toBe(1);
});

test('a stream that is left ends its exchange; one that nobody reads does not, once its body is there', async () => {
  const gone: Promise<unknown>[] = [];
  const server = await serve((socket) => {
    gone.push(new Promise((resolve) => socket.once('close', resolve)));
    endless(socket, `${ok}connection: close\r\n\r\n`, 'x');
  });
  const client = clientOf(server, { maxExchanges: 1 });
  for (let round = 0; round < 2; round += 1) streamOf(await get(client)).destroy();
  await Promise.all(gone);
  expect(gone).toHaveLength(2);
  const again = await serve((socket) => {
    const say = () => socket.write(`${ok}content-length: 2\r\n\r\nok`);
    socket.on('data', say);
    say();
  });
  const brief = clientOf(again, { maxExchanges: 1 });
  await once(streamOf(await get(brief)), 'readable');
  await expect.poll(() => get(brief).then(() => 'open', String)).toBe('open');
});

test('a guard decides on the address: of a literal before anything is sent, of a name as it is connected to', async () => {
  const server = await serve((socket) => socket.end(`${ok}content-length: 0\r\n\r\n`));
  const { port } = server.address() as AddressInfo;
  const guarded = (allow: string[], host: string) => {
    const guard = new AddressGuard(allow, (_name, _options, found) =>
      found(null, [{ address: '127.0.0.1', family: 4 }]),
    );
    return clientOf(server, { guard, baseUrl: `http://${host}:${port}` });
  };
  expect(() => guarded([], '127.0.0.1')).toThrow(AppError);
  await expect(get(guarded([], 'inside.example'))).rejects.toMatchObject({ code: 'tool_denied' });
  expect(await bytesOf(guarded(['inside.example'], 'inside.example'))).toBe(0);
});

test('nobody there, and more exchanges than are allowed', async () => {
  const server = await serve((socket) => socket.write(ok));
  const client = clientOf(server, { maxExchanges: 1 });
  const first = get(client);
  await expect(get(client)).rejects.toMatchObject(failure('crowded'));
  await Promise.all([client.close(), expect(first).rejects.toMatchObject(failure('lost'))]);
  const nobody = clientOf(server, { baseUrl: 'http://127.0.0.1:9' });
  await expect(get(nobody)).rejects.toMatchObject({ message: 'cannot be reached (ECONNREFUSED)' });
});
