import { once } from 'node:events';
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { afterEach, describe, expect } from 'vitest';
import {
  authorization,
  openTcp,
  openTestEgress,
  RawClient,
  type TcpServer,
  type TestEgress,
} from '../../../test/support/egress.js';
import { verifies } from '../../../test/verifies.js';
import type { EgressBounds } from './egress-proxy.js';

const local = '127.0.0.1';
const opened: { close(): Promise<unknown> }[] = [];
const kept = <T extends { close(): Promise<unknown> }>(what: T): T => {
  opened.push(what);
  return what;
};

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

interface Scene {
  egress: TestEgress;
  upstream: TcpServer;
  /** CONNECT of the server `docs`. */
  ask(): Promise<RawClient>;
}

async function scene(bounds: Partial<EgressBounds> = {}, onSocket = (socket: Socket) => void socket.pipe(socket)) {
  const upstream = kept(await openTcp(onSocket));
  const egress = await openTestEgress({ bounds });
  kept(egress.proxy);
  const allow = [`${local}:${upstream.port}`];
  egress.proxy.environmentFor({ name: 'docs', allow });
  egress.proxy.environmentFor({ name: 'other', allow });
  const ask = () => RawClient.ask(egress.urlOf('docs'), `CONNECT ${local}:${upstream.port} HTTP/1.1`);
  return { egress, upstream, ask } satisfies Scene;
}

const times = (counted: readonly string[], what: string) => counted.filter((each) => each === what).length;

describe('number', () => {
  verifies('tools.egress-bounded', '200 at once, the others of another server untouched', async () => {
    const { egress, upstream, ask } = await scene();
    const clients = await Promise.all(Array.from({ length: 200 }, ask));
    await Promise.all(clients.map((client) => client.until('\r\n\r\n')));
    const served = clients.filter(({ received }) => received.includes(' 200 '));
    const refused = clients.filter(({ received }) => received.includes(' 503 '));
    expect([served.length, refused.length]).toEqual([64, 136]);
    expect(refused[0]!.received).toContain('mcpServers.docs has 64 connections open, its maximum\n');
    expect(times(egress.counted, 'docs connected')).toBe(64);
    expect(times(egress.counted, 'docs connections')).toBe(136);
    expect(upstream.accepted).toHaveLength(64);
    const other = await RawClient.ask(egress.urlOf('other'), `CONNECT ${local}:${upstream.port} HTTP/1.1`);
    await other.until(' 200 ');
    for (const { socket } of [...clients, other]) socket.destroy();
    await expect.poll(() => upstream.accepted.every(({ destroyed }) => destroyed)).toBe(true);
    const again = await ask();
    await again.until(' 200 ');
    again.socket.destroy();
  });

  verifies('tools.egress-bounded', 'who does not say who it is takes a place of all', async () => {
    const { egress } = await scene({ allConnections: 2 });
    const held = await Promise.all([1, 2].map(() => RawClient.open(egress.proxy.port)));
    const third = await RawClient.open(egress.proxy.port);
    await third.gone();
    expect(egress.counted).toEqual([' connections']);
    for (const { socket } of held) socket.destroy();
  });
});

describe('size and time', () => {
  verifies('tools.egress-bounded', 'headers that are too large', async () => {
    const { egress } = await scene({ headerBytes: 1_024 });
    const client = await RawClient.ask(egress.urlOf('docs'), `CONNECT a:1 HTTP/1.1\r\nX: ${'x'.repeat(1_100)}`);
    expect(await client.answer()).toMatch(/^HTTP\/1\.1 431 /);
    expect(egress.counted).toEqual([' header_bytes']);
  });

  verifies('tools.egress-bounded', 'an answer with headers that are too large', async () => {
    const { egress, upstream } = await scene({ headerBytes: 1_024 }, (socket) => {
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(1_100)}\r\n\r\n`));
    });
    const head = `GET http://${local}:${upstream.port}/ HTTP/1.1\r\nHost: a`;
    expect(await (await RawClient.ask(egress.urlOf('docs'), head)).answer()).toMatch(/^HTTP\/1\.1 502 /);
  });

  verifies('tools.egress-bounded', 'a head that does not come', async () => {
    const { egress } = await scene({ headerMs: 50 });
    const [silent, slow] = await Promise.all([1, 2].map(() => RawClient.open(egress.proxy.port)));
    slow!.socket.write('CONNECT a:1 HTTP/1.1\r\nX:');
    expect(await silent!.answer()).toMatch(/^HTTP\/1\.1 408 /);
    expect(await slow!.answer()).toMatch(/^HTTP\/1\.1 408 /);
    expect(egress.counted).toEqual([' header_time', ' header_time']);
  });

  verifies('tools.egress-bounded', 'a connection that is not made in time', async () => {
    const egress = await openTestEgress({ bounds: { connectMs: 50 }, resolve: () => undefined });
    kept(egress.proxy);
    egress.proxy.environmentFor({ name: 'docs', allow: ['hangs.example'] });
    const client = await RawClient.ask(egress.urlOf('docs'), 'CONNECT hangs.example:443 HTTP/1.1');
    expect(await client.answer()).toMatch(/ 504 .*hangs\.example:443 did not accept the connection in time\n$/s);
    expect(egress.counted).toEqual(['docs connect_time']);
  });

  verifies(
    'tools.egress-bounded',
    'a tunnel in which nothing is said, and one whose client takes nothing',
    async () => {
      const { egress, upstream, ask } = await scene({ idleMs: 100 }, (socket) => {
        // More than buffers hold.
        const pour = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
        };
        socket.once('data', pour);
        socket.on('drain', pour);
      });
      const quiet = await ask();
      await quiet.until(' 200 ');
      await quiet.gone();
      const stuck = await ask();
      await stuck.until('\r\n\r\n');
      stuck.socket.write('x');
      stuck.socket.pause();
      await expect.poll(() => egress.counted).toEqual(['docs connected', 'docs idle', 'docs connected', 'docs idle']);
      await expect.poll(() => upstream.accepted.map(({ destroyed }) => destroyed)).toEqual([true, true]);
      stuck.socket.destroy();
    },
  );

  verifies('tools.egress-bounded', 'an answer to plain HTTP that does not come', async () => {
    const { egress, upstream } = await scene({ idleMs: 100 }, (socket) => void socket.resume());
    const head = `GET http://${local}:${upstream.port}/ HTTP/1.1\r\nHost: a`;
    const client = await RawClient.ask(egress.urlOf('docs'), head);
    await client.gone();
    expect(client.received).toBe('');
    expect(egress.counted).toEqual(['docs connected', 'docs idle']);
    await expect.poll(() => upstream.accepted[0]!.readableEnded).toBe(true);
  });
});

describe('ends', () => {
  verifies('tools.egress-bounded', 'a killed program, a forgotten server, the end of the proxy', async () => {
    const { egress, upstream, ask } = await scene();
    const url = egress.urlOf('docs');
    const program = `
      const socket = require('node:net').connect(${url.port}, '${local}');
      socket.write(${JSON.stringify(`CONNECT ${local}:${upstream.port} HTTP/1.1\r\n${authorization(url)}\r\n`)});
      socket.once('data', () => process.stdout.write('open'));`;
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    const gone = async (at: number) => {
      const socket = upstream.accepted[at]!;
      if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
    };
    await gone(0);

    const forgotten = await ask();
    await forgotten.until(' 200 ');
    const other = await RawClient.ask(egress.urlOf('other'), `CONNECT ${local}:${upstream.port} HTTP/1.1`);
    await other.until(' 200 ');
    egress.proxy.forget('docs');
    await Promise.all([forgotten.gone(), gone(1)]);
    expect(other.closed).toBe(false);
    expect(await (await ask()).answer()).toContain(' 407 ');

    const closed = egress.proxy.close();
    await Promise.all([closed, other.gone(), gone(2)]);
    await expect(RawClient.open(Number(url.port))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('what is read in two ways', () => {
  verifies('tools.egress-guarded', 'is refused', async () => {
    const { egress, upstream } = await scene();
    const at = `${local}:${upstream.port}`;
    const heads = [
      `CONNECT evil.example@${at} HTTP/1.1`,
      `CONNECT ${at}@evil.example:443 HTTP/1.1`,
      `CONNECT ${local} HTTP/1.1`,
      `CONNECT ${at}/ HTTP/1.1`,
      `CONNECT http://${at}/ HTTP/1.1`,
      `CONNECT ${at}%0d%0aHost:x HTTP/1.1`,
      `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\nHost: evil.example`,
      `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nHost: evil.example`,
      `GET http://user@${at}/ HTTP/1.1\r\nHost: ${at}`,
      `GET http://${at}\\@evil.example/ HTTP/1.1\r\nHost: ${at}`,
      `GET https://${at}/ HTTP/1.1\r\nHost: ${at}`,
      `GET / HTTP/1.1\r\nHost: ${at}`,
      `OPTIONS * HTTP/1.1\r\nHost: ${at}`,
      `GET http://${at}/ HTTP/1.1`,
      `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked`,
      `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nContent-Length: 3\r\nContent-Length: 4`,
      `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nX: a\nY: b`,
      `CONNECT ${at}\rX HTTP/1.1`,
    ];
    for (const head of heads) {
      const text = await (await RawClient.ask(egress.urlOf('docs'), head)).answer();
      expect([head, text.slice(0, 13)]).toEqual([head, 'HTTP/1.1 400 ']);
    }
    expect(upstream.accepted).toEqual([]);
  });

  verifies('tools.egress-guarded', 'nothing comes through behind the first request', async () => {
    const seen: string[] = [];
    const { egress, upstream } = await scene({}, (socket) => {
      socket.on('data', (bytes) => {
        seen.push(bytes.toString());
        if (bytes.toString().endsWith('0\r\n\r\n')) socket.end('HTTP/1.1 204 No Content\r\n\r\n');
      });
    });
    const url = egress.urlOf('docs');
    const at = `${local}:${upstream.port}`;
    const client = await RawClient.ask(url, `GET http://${at}/first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked`);
    const inner = `GET /inner HTTP/1.1\r\nHost: evil.example\r\n\r\n`;
    client.socket.write(`${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`);
    client.socket.write(`GET http://${at}/second HTTP/1.1\r\nHost: a\r\n${authorization(url)}\r\n`);
    await client.gone();
    expect(seen.join('')).toContain(`${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`);
    expect(seen.join('')).toMatch(/transfer-encoding: chunked/i);
    expect(seen.join('')).not.toContain('second');
    expect(upstream.accepted).toHaveLength(1);

    const tunnel = await RawClient.ask(url, `GET http://${at}/third HTTP/1.1\r\nHost: a`);
    tunnel.socket.write(`CONNECT ${at} HTTP/1.1\r\n${authorization(url)}\r\nthrough the tunnel`);
    await tunnel.gone();
    expect(tunnel.received).not.toContain('200 Connection Established');
    expect(seen.join('')).not.toContain('through the tunnel');
  });
});
