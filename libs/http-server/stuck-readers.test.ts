import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { silentLogger } from '#libs/logging/logger.js';
import { boundServer, readerReady } from './connections.js';

const request = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
/** More than the system buffers for a connection. */
const large = Buffer.alloc(32 * 1024 * 1024, 'x');
const patient = { timeout: 10_000 };

async function serving(answer: RequestListener, stuckReaderMs = 100) {
  let dropped = 0;
  const server = createServer(answer);
  boundServer(server, { stuckReaderMs, onBound: () => void (dropped += 1), logger: silentLogger });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(request);
  const close = () => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  };
  return { socket, dropped: () => dropped, close };
}

verifies('reliability.stuck-readers', 'a whole answer that nobody takes', async () => {
  let closed = false;
  const { dropped, close } = await serving((_request, answer) => {
    answer.once('close', () => (closed = true));
    answer.end(large);
  });
  try {
    await expect.poll(() => [closed, dropped()], patient).toEqual([true, 1]);
  } finally {
    close();
  }
});

verifies('reliability.stuck-readers', 'who waits for an answer, takes it late and asks again is served', async () => {
  let asked = 0;
  const boundMs = 50;
  const { socket, dropped, close } = await serving((_request, answer) => {
    setTimeout(() => answer.end(`answer ${(asked += 1)}`), 4 * boundMs);
  }, boundMs);
  try {
    expect(String((await once(socket, 'data'))[0])).toContain('answer 1');
    socket.write(request);
    expect(String((await once(socket, 'data'))[0])).toContain('answer 2');
    expect(dropped()).toBe(0);
  } finally {
    close();
  }
});

verifies('reliability.stuck-readers', 'a stream whose writer waits for its reader', async () => {
  let waited = false;
  const { dropped, close } = await serving((_request, answer) => {
    answer.write(large);
    void readerReady(answer).then(() => (waited = true));
  });
  try {
    await expect.poll(() => [waited, dropped()], patient).toEqual([true, 1]);
  } finally {
    close();
  }
});
