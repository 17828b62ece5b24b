import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { type LogFields, silentLogger } from '#libs/logging/logger.js';
import { verifies } from '../../test/verifies.js';
import { boundServer } from './connections.js';

verifies('reliability.connections', 'half of the descriptors, reported, served again', async () => {
  const reported: LogFields[] = [];
  let refused = 0;
  const server = createServer((_request, answer) => answer.end('here'));
  boundServer(server, {
    stuckReaderMs: 60_000,
    openFiles: 6,
    onBound: () => (refused += 1),
    logger: { ...silentLogger, warn: (fields) => void reported.push(fields) },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opened: Socket[] = [];
  /** Returns the answer, or how the connection ended. */
  const ask = async (): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    opened.push(socket);
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    return Promise.race([once(socket, 'data').then(() => 'answered'), once(socket, 'close').then(() => 'closed')]);
  };
  try {
    for (const expected of ['answered', 'answered', 'answered', 'closed', 'closed']) expect(await ask()).toBe(expected);
    expect(refused).toBe(2);
    expect(reported[0]).toMatchObject({ metadata: { connections: 3, openFiles: 6 } });
    opened[0]!.destroy();
    await expect.poll(ask).toBe('answered');
  } finally {
    for (const socket of opened) socket.destroy();
    server.close();
  }
});

verifies('reliability.connections', 'where the system does not say how many there are, no bound is made up', () => {
  const server = createServer();
  boundServer(server, {
    stuckReaderMs: 60_000,
    openFiles: Infinity,
    onBound: () => undefined,
    logger: silentLogger,
  });
  expect(server.maxConnections).toBeUndefined();
});
