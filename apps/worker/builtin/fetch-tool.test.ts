import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { createMockContext } from '#libs/testing/mock-context.js';
import { createTestWorkspace, type TestWorkspace } from '../../../test/support/test-workspace.js';
import { verifies } from '../../../test/verifies.js';
import type { Lookup } from '#libs/http-client/address-guard.js';
import { FetchTool, type FetchOptions } from './fetch-tool.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let http: Server;
let port: number;
let routes: Record<string, Handler>;
let served: string[];
let made: TestWorkspace;

beforeEach(async () => {
  made = await createTestWorkspace();
  routes = {};
  served = [];
  http = createServer((request, response) => {
    served.push(request.url!);
    const handler = routes[request.url!];
    if (handler === undefined) response.writeHead(404).end('nothing here');
    else handler(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  port = (http.address() as AddressInfo).port;
});

afterEach(async () => {
  made.remove();
  http.closeAllConnections();
  http.close();
  await once(http, 'close');
});

const text = (body: string, headers: Record<string, string> = {}): Handler => {
  return (_request, response) => response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(body);
};
const redirect = (location: string, status = 302): Handler => {
  return (_request, response) => response.writeHead(status, { location }).end();
};

function fetchTool(options: Partial<FetchOptions> = {}): FetchTool {
  return new FetchTool({
    allow: [`127.0.0.1:${port}`],
    maxTextBytes: 10_000,
    maxBytes: 500_000,
    timeoutMs: 2_000,
    ...options,
  });
}

type Input = Partial<Parameters<FetchTool['fetch']>[0]> & { url: string };

function fetched(input: Input, tool = fetchTool(), signal?: AbortSignal) {
  const context = createMockContext({ workspace: made.workspace, ...(signal === undefined ? {} : { signal }) });
  return tool.fetch({ method: 'GET', headers: {}, ...input }, context);
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await work);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code;
  }
}

const at = (path: string) => `http://127.0.0.1:${port}${path}`;
const resolvesTo = (...addresses: string[]): Lookup => {
  return (_name, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
};

verifies('tools.fetch-works', 'text, status, headers, method and body', async () => {
  routes['/weather'] = text('晴 21°C', { 'content-type': 'text/plain; charset=utf-8' });
  const result = await fetched({ url: at('/weather') });
  expect(result.content).toEqual([{ type: 'text', text: '晴 21°C' }]);
  expect(result.structuredContent).toMatchObject({ status: 200, url: at('/weather'), truncated: false });
  routes['/post'] = (request, response) => {
    request
      .setEncoding('utf8')
      .on('data', (body: string) => response.end(`${request.method} ${request.headers['x-a']?.toString()} ${body}`));
  };
  const posted = await fetched({ url: at('/post'), method: 'POST', headers: { 'X-A': 'b' }, body: 'data' });
  expect(posted.content[0]!.text).toBe('POST b data');
  await expect(fetched({ url: at('/missing') })).rejects.toThrow(/HTTP 404.*nothing here/s);
});

verifies('tools.fetch-works', 'saved to a file, in any encoding', async () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
  routes['/plain'] = (_request, response) => response.end(bytes);
  routes['/gzip'] = (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(bytes));
  routes['/br'] = (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync(bytes));
  for (const name of ['plain', 'gzip', 'br']) {
    await fetched({ url: at(`/${name}`), save_to: `downloads/${name}` });
    expect(readFileSync(join(made.host, 'downloads', name)).equals(bytes)).toBe(true);
  }
  await expect(fetched({ url: at('/plain') })).rejects.toThrow(/save_to/);
});

describe('private addresses', () => {
  const literals = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '0.0.0.0',
    '10.0.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::a00:1]',
    '[2002:7f00:1::]',
    '[2001:0:1::1]',
    '[fe80::1]',
    '[fc00::1]',
    '[ff02::1]',
    '[2001:db8::1]',
  ];
  for (const literal of literals) {
    verifies('tools.fetch-guarded', literal, async () => {
      routes['/'] = text('secret');
      expect(await codeOf(fetched({ url: `http://${literal}:${port}/` }, fetchTool({ allow: [] })))).toBe(
        'tool_denied',
      );
      expect(served).toEqual([]);
    });
  }

  verifies('tools.fetch-guarded', 'a name that resolves to one', async () => {
    routes['/'] = text('secret');
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254']) {
      const tool = fetchTool({ allow: [], lookup: resolvesTo(address) });
      expect(await codeOf(fetched({ url: `http://public.example:${port}/` }, tool))).toBe('tool_denied');
    }
    expect(await codeOf(fetched({ url: `http://localhost:${port}/` }, fetchTool({ allow: [] })))).toBe('tool_denied');
    expect(served).toEqual([]);
  });

  verifies('tools.fetch-guarded', 'a name that resolves to something else the second time', async () => {
    routes['/'] = text('secret');
    let asked = 0;
    const lookup: Lookup = (name, options, callback) => {
      asked += 1;
      resolvesTo(...(asked === 1 ? ['192.0.2.1', '127.0.0.1'] : ['127.0.0.1']))(name, options, callback);
    };
    const tool = fetchTool({ allow: [], lookup, timeoutMs: 500 });
    expect(await codeOf(fetched({ url: `http://rebind.example:${port}/` }, tool))).toBe('tool_denied');
    expect(await codeOf(fetched({ url: `http://rebind.example:${port}/` }, tool))).toBe('tool_denied');
    expect(served).toEqual([]);
  });

  verifies('tools.fetch-guarded', 'reached by a redirect', async () => {
    for (const target of [
      `http://127.0.0.2:${port}/x`,
      'http://169.254.169.254/latest',
      'file:///etc/passwd',
      `http://[::1]:${port}/`,
    ]) {
      routes['/go'] = redirect(target);
      expect(await codeOf(fetched({ url: at('/go') }))).toBe('tool_denied');
    }
    expect(served).toEqual(['/go', '/go', '/go', '/go']);
  });

  verifies('tools.fetch-guarded', 'unless allowed by host, host and port, or network', async () => {
    routes['/'] = text('inside');
    for (const allow of ['127.0.0.1', `127.0.0.1:${port}`, '127.0.0.0/8']) {
      expect(await codeOf(fetched({ url: at('/') }, fetchTool({ allow: [allow] })))).toContain('inside');
    }
    const named = fetchTool({ allow: ['Intranet.example'], lookup: resolvesTo('127.0.0.1') });
    expect(await codeOf(fetched({ url: `http://intranet.example.:${port}/` }, named))).toContain('inside');
    for (const allow of ['127.0.0.1:1', '127.0.0.2', '10.0.0.0/8', '27.0.0.1']) {
      expect(await codeOf(fetched({ url: at('/') }, fetchTool({ allow: [allow] })))).toBe('tool_denied');
    }
  });
});

describe('URLs and headers', () => {
  const table: [string, Input, string][] = [
    ['file', { url: 'file:///etc/passwd' }, 'tool_denied'],
    ['ftp', { url: 'ftp://example.com/' }, 'tool_denied'],
    ['data', { url: 'data:text/plain,x' }, 'tool_denied'],
    ['credentials', { url: 'http://user:secret@example.com/' }, 'tool_denied'],
    ['no URL', { url: 'weather' }, 'invalid_tool_arguments'],
    ['header with a line break', { url: 'http://127.0.0.1/', headers: { a: 'b\r\nc: d' } }, 'invalid_tool_arguments'],
    ['host header', { url: 'http://127.0.0.1/', headers: { Host: 'evil' } }, 'invalid_tool_arguments'],
  ];
  for (const [name, input, code] of table) {
    test(name, async () => expect(await codeOf(fetched(input))).toBe(code));
  }

  test('secrets stay at the origin that they were meant for', async () => {
    const seen: (string | undefined)[] = [];
    const echo: Handler = (request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    };
    routes['/same'] = redirect('/echo');
    routes['/other'] = redirect(`http://127.0.0.2:${port}/echo`);
    routes['/echo'] = echo;
    const headers = { authorization: 'Bearer x' };
    const second = createServer(echo);
    second.listen(port, '127.0.0.2');
    await once(second, 'listening');
    const tool = fetchTool({ allow: ['127.0.0.0/8'] });
    try {
      await fetched({ url: at('/same'), headers }, tool);
      await fetched({ url: at('/other'), headers }, tool);
    } finally {
      second.closeAllConnections();
      second.close();
    }
    expect(seen).toEqual(['Bearer x', undefined]);
  });
});

describe('bounds', () => {
  verifies('tools.fetch-bounded', 'redirects without end', async () => {
    routes['/loop'] = redirect('/loop');
    expect(await codeOf(fetched({ url: at('/loop') }))).toBe('tool_failed');
    expect(served).toHaveLength(6);
  });

  verifies('tools.fetch-bounded', 'an answer without end is cut, or not kept', async () => {
    routes['/endless'] = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', write);
      write();
    };
    const cut = await fetched({ url: at('/endless') });
    expect(cut.content[0]!.text).toHaveLength(10_000);
    expect(cut.structuredContent).toMatchObject({ truncated: true });
    expect(await codeOf(fetched({ url: at('/endless'), save_to: 'x' }))).toBe('result_too_large');
    const roomy = fetchTool({ maxBytes: 10_000_000 });
    expect(await codeOf(fetched({ url: at('/endless'), save_to: 'x' }, roomy))).toBe('workspace_quota_exceeded');
    expect(existsSync(join(made.host, 'x'))).toBe(false);
  });

  verifies('tools.fetch-bounded', 'a decompression bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000), { level: 9 });
    routes['/bomb'] = (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(bomb);
    const before = process.memoryUsage().rss;
    expect(await codeOf(fetched({ url: at('/bomb'), save_to: 'x' }))).toBe('result_too_large');
    expect((await fetched({ url: at('/bomb') })).structuredContent).toMatchObject({ truncated: true });
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });

  verifies('tools.fetch-bounded', 'silence before and in an answer', async () => {
    routes['/silent'] = () => undefined;
    routes['/half'] = (_request, response) => void response.writeHead(200, { 'content-length': '10' }).write('half');
    const hasty = fetchTool({ timeoutMs: 200 });
    expect(await codeOf(fetched({ url: at('/silent') }, hasty))).toBe('tool_timeout');
    expect(await codeOf(fetched({ url: at('/half'), save_to: 'x' }, hasty))).toBe('tool_timeout');
    expect(existsSync(join(made.host, 'x'))).toBe(false);
  });

  verifies('tools.fetch-bounded', 'cancelled, nothing stays open', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      routes['/silent'] = (request) => {
        request.once('close', resolve);
        stop.abort();
      };
    });
    await expect(fetched({ url: at('/silent') }, fetchTool(), stop.signal)).rejects.toThrow();
    await closed;
  });

  verifies('tools.fetch-bounded', 'an answer that is not read when its connection ends', async () => {
    const raw = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 65536\r\nConnection: close\r\n\r\n');
        socket.end(Buffer.alloc(65_536));
      });
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}/`;
    await expect(fetched({ url }, fetchTool({ allow: ['127.0.0.1'] }))).rejects.toThrow(/save_to/);
    raw.close();
    await once(raw, 'close');
  });

  verifies('tools.fetch-bounded', 'an answer that breaks off', async () => {
    routes['/cut'] = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000', 'content-type': 'text/plain' }).write('half');
      setImmediate(() => response.destroy());
    };
    routes['/garbage'] = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    expect(await codeOf(fetched({ url: at('/cut') }))).toBe('tool_failed');
    expect(await codeOf(fetched({ url: at('/cut'), save_to: 'x' }))).toBe('tool_failed');
    expect(await codeOf(fetched({ url: at('/garbage'), save_to: 'x' }))).toBe('tool_failed');
    expect(existsSync(join(made.host, 'x'))).toBe(false);
  });
});
