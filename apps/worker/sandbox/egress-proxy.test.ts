import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import type { AddressInfo } from 'node:net';
import { EnvHttpProxyAgent, fetch as undiciFetch } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTcp, openTestEgress, RawClient, type TcpServer, type TestEgress } from '../../../test/support/egress.js';
import { runProgram } from '../../../test/support/run-program.js';
import { verifies } from '../../../test/verifies.js';

const local = '127.0.0.1';
const opened: { close(): Promise<unknown> }[] = [];
const kept = <T extends { close(): Promise<unknown> }>(what: T): T => {
  opened.push(what);
  return what;
};

let web: Server;
let webPort: number;
let requests: { line: string; headers: string[]; body: string }[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  requests = [];
  answer = (_request, response) => response.end('hello');
  web = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      requests.push({ line: `${request.method} ${request.url}`, headers: request.rawHeaders, body });
      answer(request, response);
    });
  }).listen(0, local);
  await once(web, 'listening');
  webPort = (web.address() as AddressInfo).port;
});

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  web.closeAllConnections();
  web.close();
});

async function open(options: Parameters<typeof openTestEgress>[0] = {}): Promise<TestEgress> {
  const egress = await openTestEgress(options);
  kept(egress.proxy);
  return egress;
}

const echo = async (host = local): Promise<TcpServer> =>
  kept(await openTcp((socket) => void socket.pipe(socket), host));

describe('CONNECT', () => {
  verifies('tools.egress-works', 'both ways, and what was sent with the request', async () => {
    const { port } = await echo();
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${port}`] });
    const client = await RawClient.open(egress.proxy.port);
    const url = egress.urlOf('docs');
    const basic = Buffer.from(`docs:${url.password}`).toString('base64');
    client.socket.write(`CONNECT ${local}:${port} HTTP/1.1\r\nProxy-Authorization: basic ${basic}\r\n\r\nearly `);
    await client.until('\r\n\r\nearly ');
    client.socket.write('late');
    await client.until('early late');
    expect(client.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(egress.counted).toEqual(['docs connected']);
    client.socket.destroy();
  });

  verifies('tools.egress-works', 'one side may end before the other has', async () => {
    const late = kept(
      await openTcp((socket) => {
        let all = '';
        socket.on('data', (bytes) => (all += bytes.toString()));
        socket.on('end', () => socket.end(`after the end: ${all}`));
      }),
    );
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${late.port}`] });
    const client = await RawClient.ask(egress.urlOf('docs'), `CONNECT ${local}:${late.port} HTTP/1.1`);
    await client.until('\r\n\r\n');
    client.socket.end('all of it');
    expect(await client.answer()).toContain('after the end: all of it');

    let rest = '';
    const early = kept(
      await openTcp((socket) => {
        socket.end('that is all');
        socket.on('data', (bytes) => (rest += bytes.toString()));
      }),
    );
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${early.port}`] });
    const talker = await RawClient.ask(egress.urlOf('docs'), `CONNECT ${local}:${early.port} HTTP/1.1`);
    await talker.gone();
    expect(talker.received).toContain('that is all');
    talker.socket.end('and more of ours');
    await expect.poll(() => rest).toBe('and more of ours');
  });

  verifies('tools.egress-works', 'what breaks off is broken off on the other side too', async () => {
    const server = await echo();
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${server.port}`] });
    const client = await RawClient.ask(egress.urlOf('docs'), `CONNECT ${local}:${server.port} HTTP/1.1`);
    await client.until('\r\n\r\n');
    server.accepted[0]!.resetAndDestroy();
    await client.gone();
    expect(client).toMatchObject({ failed: true, ended: false });
  });

  verifies('tools.egress-works', 'over IPv6', async () => {
    const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
    const egress = await open({ addresses: { 'six.example': [['::1']] } });
    const port = hasIpv6 ? (await echo('::1')).port : 9;
    egress.proxy.environmentFor({ name: 'docs', allow: [`[::1]:${port}`, `six.example:${port}`] });
    for (const host of ['[0::1]', 'six.example']) {
      const client = await RawClient.ask(egress.urlOf('docs'), `CONNECT ${host}:${port} HTTP/1.1`);
      await client.until('\r\n\r\n');
      expect(client.received).toMatch(hasIpv6 ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 502 /);
      client.socket.destroy();
    }
  });
});

describe('who may what', () => {
  verifies('tools.egress-guarded', 'without the token of a server nothing', async () => {
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${webPort}`] });
    egress.proxy.environmentFor({ name: 'other', allow: ['example.com'] });
    const wrong = [
      ['', ''],
      ['docs', 'wrong'],
      ['docs', egress.urlOf('other').password],
      ['nobody', egress.urlOf('docs').password],
      ['__proto__', ''],
    ];
    const heads = [
      `CONNECT ${local}:${webPort} HTTP/1.1\r\nHost: x`,
      `GET http://${local}:${webPort}/ HTTP/1.1\r\nHost: x`,
    ];
    for (const head of heads) {
      for (const [username, password] of wrong) {
        const url = { port: String(egress.proxy.port), username, password } as URL;
        const text = await (await RawClient.ask(url, head)).answer();
        expect(text).toMatch(/^HTTP\/1\.1 407 .*proxy-authenticate: Basic.*The token of a tool server is missing\n$/is);
      }
    }
    expect(new Set(egress.counted)).toEqual(new Set([' unauthorized']));
    expect(requests).toEqual([]);
  });

  verifies('tools.egress-guarded', 'a name that is not in the list: one plain line, logged once', async () => {
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${webPort}`] });
    const url = egress.urlOf('docs');
    for (const head of ['CONNECT Evil.example:443 HTTP/1.1', 'CONNECT evil.example.:443 HTTP/1.1']) {
      const text = await (await RawClient.ask(url, head)).answer();
      expect(text).toMatch(/^HTTP\/1\.1 403 /);
      expect(text.split('\r\n\r\n')[1]).toBe('evil.example:443 is not in mcpServers.docs.network.allow\n');
    }
    const plain = await (await RawClient.ask(url, 'GET http://evil.example/secret?key=1 HTTP/1.1\r\nHost: a')).answer();
    expect(plain).toMatch(/^HTTP\/1\.1 403 .*evil\.example:80 is not in mcpServers\.docs\.network\.allow\n$/s);
    expect(egress.logged.map(({ metadata }) => metadata)).toEqual([
      { server: 'docs', host: 'evil.example', port: 443, reason: 'not_allowed' },
      { server: 'docs', host: 'evil.example', port: 80, reason: 'not_allowed' },
    ]);
    expect(egress.counted).toEqual(Array(3).fill('docs not_allowed'));
    expect(egress.asked).toEqual([]);
  });

  verifies('tools.egress-guarded', 'the address that is connected to is the one that was checked', async () => {
    const { port } = await echo();
    const egress = await open({
      addresses: { 'turns.example': [[local], ['127.0.0.2']], 'both.example': [['127.0.0.2', local]] },
    });
    egress.proxy.environmentFor({ name: 'docs', allow: [`*.example:${port}`, `${local}:${port}`] });
    const ask = async (name: string) => {
      const client = await RawClient.ask(egress.urlOf('docs'), `CONNECT ${name}:${port} HTTP/1.1`);
      await client.until('\r\n\r\n');
      client.socket.destroy();
      return client.received;
    };
    expect(await ask('turns.example')).toContain(' 200 ');
    expect(egress.asked).toEqual(['turns.example']);
    const second = await ask('turns.example');
    expect(second).toContain(' 403 ');
    expect(second).toContain(
      'turns.example resolves to a private or reserved address that is not in mcpServers.docs.network.allow',
    );
    expect(second).not.toContain('127.0.0');
    expect(await ask('both.example')).toContain(' 200 ');
    expect(await ask('missing.example')).toMatch(/ 502 .*missing\.example:\d+ cannot be reached\n$/s);
    expect(egress.counted).toEqual(['docs connected', 'docs private_address', 'docs connected', 'docs unreachable']);
    expect(egress.logged.map(({ metadata }) => metadata)).toMatchObject([{ reason: 'private_address' }]);
  });

  verifies('tools.egress-guarded', 'another list counts from then on, with the same token', async () => {
    const egress = await open();
    const given = egress.proxy.environmentFor({ name: 'docs', allow: ['a.example'] });
    expect(egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${webPort}`] })).toEqual(given);
    const text = await (
      await RawClient.ask(egress.urlOf('docs'), `GET http://${local}:${webPort}/ HTTP/1.1\r\nHost: a`)
    ).answer();
    expect(text).toContain('hello');
    egress.proxy.forget('docs');
    expect(egress.proxy.environmentFor({ name: 'docs', allow: ['a.example'] })).not.toEqual(given);
  });
});

describe('plain HTTP', () => {
  verifies('tools.egress-works', 'request and answer, without what belongs to the connection', async () => {
    answer = (_request, response) => {
      const hop = ['Connection', 'x-hop', 'X-Hop', '1'];
      response.writeHead(201, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Kept', 'yes', ...hop]);
      response.end('made');
    };
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${webPort}`] });
    const client = await RawClient.ask(
      egress.urlOf('docs'),
      `POST http://${local}:${webPort}/a/../b?c=%2F HTTP/1.1\r\nHost: other.example\r\nTransfer-Encoding: chunked\r\n` +
        'Connection: x-secret\r\nX-Secret: 1\r\nX-Kept: yes\r\nUpgrade: websocket\r\nExpect: 100-continue',
    );
    client.socket.write('4\r\nbody\r\n0\r\n\r\n');
    const text = await client.answer();
    expect(text).toContain('HTTP/1.1 201 ');
    expect(text).toMatch(/set-cookie: a=1\r\nset-cookie: b=2\r\n/i);
    expect(text).toMatch(/x-kept: yes/i);
    expect(text).not.toMatch(/x-hop/i);
    expect(text).toContain('made');
    const [request] = requests;
    expect(request).toMatchObject({ line: 'POST /a/../b?c=%2F', body: 'body' });
    const headers = request!.headers.join(' ').toLowerCase();
    expect(headers).toContain(`host ${local}:${webPort}`);
    expect(headers).toContain('x-kept yes');
    for (const name of ['other.example', 'x-secret', 'proxy-authorization', 'upgrade', 'expect']) {
      expect(headers).not.toContain(name);
    }
  });

  verifies('tools.egress-works', 'an answer that breaks off never looks complete', async () => {
    answer = (_request, response) => {
      response.writeHead(200);
      response.write('half', () => response.socket!.destroy());
    };
    const egress = await open();
    egress.proxy.environmentFor({ name: 'docs', allow: [`${local}:${webPort}`] });
    const get = await RawClient.ask(egress.urlOf('docs'), `GET http://${local}:${webPort}/ HTTP/1.1\r\nHost: a`);
    expect(await get.answer()).not.toContain('\r\n0\r\n');
  });
});

describe('clients', () => {
  const clientEnvironment = async () => {
    const { proxy, counted } = await open();
    return { environment: proxy.environmentFor({ name: 'docs', allow: [`${local}:${webPort}`] }), counted };
  };

  verifies('tools.egress-works', 'curl, plain and by CONNECT', async () => {
    const { environment, counted } = await clientEnvironment();
    const env = { PATH: process.env['PATH'], ...environment };
    const url = `http://${local}:${webPort}/`;
    for (const options of [['-s'], ['-s', '--proxytunnel']]) {
      expect(await runProgram('curl', [...options, url], { env })).toMatchObject({ code: 0, stdout: 'hello' });
    }
    const refused = await runProgram('curl', ['-s', 'http://example.com/'], { env });
    expect(refused.stdout).toBe('example.com:80 is not in mcpServers.docs.network.allow\n');
    expect(counted).toEqual(['docs connected', 'docs connected', 'docs not_allowed']);
  });

  verifies('tools.egress-works', 'fetch of undici, which is that of Node where it heeds the environment', async () => {
    const { environment, counted } = await clientEnvironment();
    const url = `http://${local}:${webPort}/`;
    const { HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy, NO_PROXY: noProxy } = environment;
    const dispatcher = kept(
      new EnvHttpProxyAgent({ httpProxy: httpProxy!, httpsProxy: httpsProxy!, noProxy: noProxy! }),
    );
    expect(await (await undiciFetch(url, { dispatcher })).text()).toBe('hello');
    // Node from 22.21 on.
    const heeds = process.allowedNodeEnvironmentFlags.has('--use-env-proxy');
    const program = `fetch('${url}').then((answer) => answer.text()).then((text) => process.stdout.write(text))`;
    const own = await runProgram(process.execPath, ['-e', program], {
      env: { PATH: process.env['PATH'], ...environment },
    });
    expect(own).toMatchObject({ code: 0, stdout: 'hello' });
    if (heeds) expect(counted).toEqual(['docs connected', 'docs connected']);
  });
});

test('closing twice is no error', async () => {
  const { proxy } = await openTestEgress();
  await proxy.close();
  await proxy.close();
});
