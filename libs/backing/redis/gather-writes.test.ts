import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { gatherWrites } from './gather-writes.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Answers every command. */
async function startServer(): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => {
      for (const _command of chunk.toString().match(/^\*\d+\r$/gm) ?? []) socket.write('+OK\r\n');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server;
}

async function connected(): Promise<{ client: Redis; writes: () => number }> {
  const { port } = (await startServer()).address() as AddressInfo;
  const client = gatherWrites(
    new Redis({ port, lazyConnect: true, enableReadyCheck: false, disableClientInfo: true, retryStrategy: () => null }),
  );
  closing.push(() => client.disconnect());
  await client.connect();
  let writes = 0;
  // What a socket hands to the system: one chunk, or several at once.
  const socket = client.stream as unknown as Record<'_write' | '_writev', (...given: unknown[]) => void>;
  for (const name of ['_write', '_writev'] as const) {
    const original = socket[name].bind(socket);
    socket[name] = (...given) => {
      writes += 1;
      original(...given);
    };
  }
  return { client, writes: () => writes };
}

test('commands of one turn of the event loop go out in one write, those of the next in another', async () => {
  const { client, writes } = await connected();
  await Promise.all([client.set('a', '1'), client.set('b', Buffer.from('2')), client.get('c')]);
  expect(writes()).toBe(1);
  const later = [client.set('a', '3')];
  // Still the same turn.
  await Promise.resolve();
  later.push(client.set('b', '4'));
  expect(await Promise.all(later)).toEqual(['OK', 'OK']);
  expect(writes()).toBe(2);
});

test('what has not gone out when the connection ends fails like any other command', async () => {
  const { client } = await connected();
  const command = client.set('a', '1');
  client.stream.destroy();
  await expect(command).rejects.toThrow('Connection is closed');
});
