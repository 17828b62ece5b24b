// What this machine listens on while it is attacked; each answers a byte with a byte. Some stand in a process of the probe
// (probe/listener.c).
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startCompanion, type Companion } from './companion.js';

export interface Listeners {
  tcpPort: number;
  /** 0 where this machine has no IPv6. */
  tcpPortV6: number;
  udpPort: number;
  path: string;
  /** Without the zero before it. */
  abstractName: string;
  datagramPath: string;
  /** The only one that a server may reach whose network is a proxy. It answers otherwise. */
  proxyPort: number;
  /** Whether this came as a datagram, or comes soon. */
  received(text: string): Promise<boolean>;
  close(): Promise<void>;
}

export async function openListeners(probe: string, directory: string): Promise<Listeners> {
  const path = join(directory, 'worker.sock');
  const abstractName = `signalbox-probe-${randomBytes(8).toString('hex')}`;
  const tcp = await listen({ host: '127.0.0.1', port: 0 });
  const v6 = await listen({ host: '::1', port: 0 }).catch(() => undefined);
  const named = await listen({ path });
  chmodSync(path, 0o777);
  const proxy = await listen({ host: '127.0.0.1', port: 0 }, 'p');
  const datagramPath = join(directory, 'datagrams.sock');
  const local = await startLocal(probe, datagramPath, abstractName);
  const udp = createSocket('udp4');
  udp.on('message', (_, from) => udp.send('y', from.port, from.address));
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  const servers = [tcp, v6, named, proxy].filter((server) => server !== undefined);
  return {
    tcpPort: portOf(tcp),
    tcpPortV6: v6 === undefined ? 0 : portOf(v6),
    udpPort: udp.address().port,
    path,
    abstractName,
    datagramPath,
    proxyPort: portOf(proxy),
    received: (text) => local.reports(`datagram ${text}`),
    close: async () => {
      udp.close();
      await local.end();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function listen(options: ListenOptions, answer = 'y'): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.end(answer));
  });
  server.listen(options);
  await once(server, 'listening');
  return server;
}

async function startLocal(probe: string, ...words: string[]): Promise<Companion> {
  return startCompanion(spawn(probe, ['listener', ...words], { stdio: ['pipe', 'pipe', 'inherit'] }));
}
