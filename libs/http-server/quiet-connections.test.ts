import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { silentLogger } from '#libs/logging/logger.js';
import { boundServer } from './connections.js';

const request = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

verifies('deployment.stop-quiet-connections', 'unused, half a request, keep-alive, one under way', async () => {
  const held: ServerResponse[] = [];
  const server = createServer((_request, answer) => void held.push(answer));
  const bounds = { stuckReaderMs: 60_000, onBound: () => undefined, logger: silentLogger };
  const connections = boundServer(server, bounds);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opened: Socket[] = [];
  const open = async (sent: string): Promise<Socket> => {
    const accepted = once(server, 'connection');
    const socket = connect(port, '127.0.0.1');
    opened.push(socket);
    socket.on('error', () => undefined);
    const asked = sent === request ? once(server, 'request') : undefined;
    if (sent !== '') socket.write(sent);
    await Promise.all([accepted, asked]);
    return socket;
  };
  try {
    const kept = await open(request);
    held.pop()!.end('first');
    await once(kept, 'data');
    const busy = await open(request);
    const quiet = [kept, await open(''), await open('GET / HT')];
    const closes = quiet.map((socket) => once(socket, 'close'));
    const stopped = once(server, 'close');
    connections.closeQuiet();
    server.close();
    await Promise.all(closes);
    expect(busy.destroyed).toBe(false);
    const ended = once(busy, 'end');
    const answered = once(busy, 'data');
    held.pop()!.end('second');
    expect(String(await answered)).toContain('second');
    await Promise.all([ended, stopped]);
  } finally {
    for (const socket of opened) socket.destroy();
    server.closeAllConnections();
  }
});
