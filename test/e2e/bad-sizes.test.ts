// Bad input because of size, timing or framing: generated in code, sent over sockets, limited in time.
import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { completeChat, user } from '../support/chat-client.js';
import { expectAnswer, expectNoLeak, expectStillWell, residentBytes } from '../support/judge-answers.js';
import { rawBytes, rawRequest } from '../support/raw-request.js';
import { runProgram } from '../support/run-program.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let residentAtStart: number | undefined;

beforeAll(async () => {
  box = await startSignalbox({ script: () => ({ text: 'ok' }) });
  residentAtStart = await residentBytes(box.gateways[0]!.pid);
});
afterAll(() => box?.close());

const path = '/v1/chat/completions';
const post = (body: string | Buffer, headers: Record<string, string | null> = {}) =>
  rawRequest(box.url, { path, body, headers });
const chat = (members: object) => JSON.stringify({ messages: [user('x')], ...members });
const mebibyte = 1024 * 1024;
const functions = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ type: 'function', function: { name: `f${at}` } }));
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
/** A schema with this nesting depth, as text: JSON.stringify could not write such an object. */
const deepTool = (depth: number) =>
  `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":` +
  `{"type":"object","properties":${'{"a":'.repeat(depth)}{}${'}'.repeat(depth)}}}}]}`;

const sizes: [string, () => string | Buffer, string][] = [
  ['content of 10 MB', () => chat({ messages: [user('文'.repeat(3.3 * mebibyte))] }), '200'],
  ['a body of 17 MiB', () => chat({ messages: [user('x'.repeat(17 * mebibyte))] }), '413 request_too_large'],
  [
    'a data URL of 50 MB',
    () => {
      const url = `data:image/png;base64,${'A'.repeat(50_000_000)}`;
      return chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
    },
    '413 request_too_large',
  ],
  [
    '100,000 messages',
    () => chat({ messages: Array.from({ length: 100_000 }, () => user('x')) }),
    '413 request_too_large',
  ],
  ['2,001 messages', () => chat({ messages: Array.from({ length: 2_001 }, () => user('x')) }), '400 invalid_value'],
  ['a million nested lists', () => nested(1_000_000, '[', ']'), '400 invalid_json'],
  ['a million lists that never end', () => '['.repeat(1_000_000), '400 invalid_json'],
  ['200,000 nested objects', () => nested(200_000, '{"a":', '}'), '400 invalid_json'],
  ['10,000 tools', () => chat({ tools: functions(10_000) }), '400 too_many_tools'],
  ['129 tools', () => chat({ tools: functions(129) }), '400 too_many_tools'],
  ['128 tools', () => chat({ tools: functions(128) }), '200'],
  ['a schema 3,000 levels deep', () => deepTool(3_000), '400 invalid_json'],
  ['a schema 40 levels deep', () => deepTool(40), '400 invalid_value'],
  [
    'a schema of 100 kB',
    () => {
      const parameters = { type: 'object', description: 'x'.repeat(100_000) };
      return chat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
    },
    '400 invalid_value',
  ],
  ['a session id of 1 MB', () => chat({ session_id: 's'.repeat(1_000_000) }), '400 invalid_value'],
  ['a model name of 1 MB', () => chat({ model: 'm'.repeat(1_000_000) }), '400 invalid_value'],
  ['50,000 members', () => chat(members(50_000)), '200'],
  ['a million members', () => chat(members(1_000_000)), '413 request_too_large'],
  ['a million members of metadata', () => chat({ metadata: members(1_000_000) }), '413 request_too_large'],
  ['a body in UTF-16', () => Buffer.from(`\ufeff${chat({})}`, 'utf16le'), '400 invalid_json'],
  ['a body with a byte order mark', () => Buffer.from(`\ufeff${chat({})}`), '200'],
];
for (const [what, body, expected] of sizes) {
  verifies('chat.errors.bad-input', what, async () => {
    expectAnswer(await post(body()), expected, box);
  });
}

/** Each sends the whole body, and reads the answer only then if its HTTP client does so. */
const clients: Record<string, (url: string, file: string) => Promise<string>> = {
  async fetch(url, file) {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: await readFile(file),
    });
    return `${answer.status} ${await answer.text()}`;
  },
  async curl(url, file) {
    const headers = ['-H', 'content-type: application/json', '-H', 'expect:'];
    const end = await runProgram('curl', ['-sS', '-w', ' %{http_code}', ...headers, '--data-binary', `@${file}`, url]);
    return end.code === 0 ? end.stdout : end.stderr;
  },
  async python(url, file) {
    const lines = [
      'import http.client, sys, urllib.parse',
      'url = urllib.parse.urlparse(sys.argv[1])',
      'connection = http.client.HTTPConnection(url.netloc)',
      "body = open(sys.argv[2], 'rb').read()",
      "connection.request('POST', url.path, body, {'content-type': 'application/json'})",
      'answer = connection.getresponse()',
      'print(answer.status, answer.read().decode())',
    ];
    const end = await runProgram('python3', ['-c', lines.join('\n'), url, file]);
    return end.code === 0 ? end.stdout : end.stderr;
  },
};

for (const [name, send] of Object.entries(clients)) {
  verifies('chat.errors.bad-input', `a body of 40 MiB: ${name} reads the answer`, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'large-'));
    try {
      const file = join(directory, 'body.json');
      await writeFile(file, chat({ messages: [user('x'.repeat(40 * mebibyte))] }));
      for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses', '/api/tools/call', '/mcp']) {
        const answer = await send(`${box.url}${path}`, file);
        expect([path, answer]).toEqual([path, expect.stringContaining('413')]);
        expect(answer).toContain('request_too_large');
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });
}

verifies('chat.errors.bad-input', 'a small bomb of zeros', async () => {
  const bomb = gzipSync(Buffer.alloc(256 * mebibyte));
  const answer = await post(bomb, { 'content-encoding': 'gzip' });
  expectAnswer(answer, '415 unsupported_media_type', box);
});

verifies('chat.errors.bad-input', 'tool arguments of 2 MB and of 20 MB', async () => {
  const call = (size: number) =>
    rawRequest(box.url, {
      path: '/api/tools/call',
      body: JSON.stringify({ name: 'write_file', arguments: { path: 'big.txt', content: 'x'.repeat(size) } }),
    });
  expectAnswer(await call(2 * mebibyte), '422 invalid_tool_arguments', box);
  expectAnswer(await call(20 * mebibyte), '413 request_too_large', box);
});

const head = (lines: string[]) =>
  ['POST /v1/chat/completions HTTP/1.1', 'content-type: application/json', ...lines, '', ''].join('\r\n');
const body = JSON.stringify({ messages: [user('x')] });
const bytes = Buffer.byteLength(body);
const smuggled = 'GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n';

/** Bytes sent on a socket, and the expected status of the first answer; undefined: none, the connection closes. */
const framings: [string, string[], number[]][] = [
  [
    'a length and chunks at once',
    [head(['host: localhost', `content-length: ${bytes}`, 'transfer-encoding: chunked']), `0\r\n\r\n${smuggled}`],
    [400],
  ],
  ['two lengths', [head(['host: localhost', `content-length: ${bytes}`, 'content-length: 0']), body, smuggled], [400]],
  ['a length that is no number', [head(['host: localhost', 'content-length: +1x']), body], [400]],
  ['a negative length', [head(['host: localhost', 'content-length: -1']), body], [400]],
  ['a chunk size that is none', [head(['host: localhost', 'transfer-encoding: chunked']), 'zz\r\n'], [400]],
  ['a coding that hides chunks', [head(['host: localhost', 'transfer-encoding: xchunked']), body], [400, 501]],
  [
    'a header with NUL',
    [head(['host: localhost', 'authorization: Bearer a\0b', `content-length: ${bytes}`]), body],
    [400],
  ],
  ['a header with a bare CR', [head(['host: localhost', 'x-a: b\rc', `content-length: ${bytes}`]), body], [400]],
  ['a folded header', [head(['host: localhost', 'x-a: b', ' c', `content-length: ${bytes}`]), body], [400]],
  ['two hosts', [head(['host: localhost', 'host: evil.example', `content-length: ${bytes}`]), body], [400, 403]],
  ['no host', [head([`content-length: ${bytes}`]), body], [400, 403]],
  ['an empty host', [head(['host: ', `content-length: ${bytes}`]), body], [403]],
  [
    'two keys',
    [head(['host: localhost', 'authorization: Bearer a', 'authorization: Bearer b', `content-length: ${bytes}`]), body],
    [200, 400, 401],
  ],
  [
    'two Idempotency-Keys',
    [head(['host: localhost', 'idempotency-key: a', 'idempotency-key: b', `content-length: ${bytes}`]), body],
    [400],
  ],
  ['no HTTP at all', ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'], [400]],
  ['HTTP of the future', [`POST ${path} HTTP/9.9\r\nhost: localhost\r\n\r\n`], [400, 505]],
  ['an address of another', [`GET http://evil.example/health/live HTTP/1.1\r\nhost: evil.example\r\n\r\n`], [403]],
  ['headers without end', [head(['host: localhost']).slice(0, -2), `x-a: ${'a'.repeat(70_000)}`], [413]],
];
for (const [what, pieces, statuses] of framings) {
  verifies('chat.errors.bad-input', `on the wire: ${what}`, async () => {
    const heard = await rawBytes(box.url, pieces, { waitMs: 3_000, until: /\r\n\r\n[\s\S]*\}$/ });
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(heard.text)?.[1]);
    expect(statuses, heard.text).toContain(status);
    // One request, one answer: nothing in its body was mistaken for another request.
    expect(heard.text.match(/^HTTP\/1\.1/gm)).toHaveLength(1);
    expectNoLeak(heard.text, box);
    if (status < 400) return;
    const { error } = JSON.parse(heard.text.slice(heard.text.indexOf('\r\n\r\n') + 4)) as { error: object };
    expect(error).toMatchObject({ code: expect.any(String), type: expect.any(String), request_id: expect.any(String) });
  });
}

verifies('chat.errors.bad-input', 'on the wire: a length that is too long never becomes half a request', async () => {
  const sent = box.upstream.requests.length;
  const heard = await rawBytes(box.url, [head(['host: localhost', `content-length: ${bytes + 50}`]), body], {
    waitMs: 500,
  });
  expect(heard.text).toBe('');
  expect(box.upstream.requests.length).toBe(sent);
});

verifies('chat.errors.bad-input', 'on the wire: gone after the headers, many times', async () => {
  const leave = () => rawBytes(box.url, [head(['host: localhost', 'content-length: 1000000'])], { waitMs: 20 });
  await Promise.all(Array.from({ length: 100 }, leave));
  expect((await completeChat(box.url, { messages: [user('x')] })).choices[0]!.message.content).toBe('ok');
});

verifies('chat.errors.bad-input', 'on the wire: a body of one byte at a time holds up nobody', async () => {
  const trickle = rawBytes(box.url, [head(['host: localhost', `content-length: ${bytes}`]), ...body.split('')], {
    everyMs: 20,
    until: /\}$/,
  });
  const began = performance.now();
  await completeChat(box.url, { messages: [user('x')] });
  expect(performance.now() - began).toBeLessThan(withinMs(2_000));
  expect((await trickle).text).toMatch(/^HTTP\/1\.1 200[\s\S]*"content":"ok"/);
});

verifies('chat.idempotency.mismatch', 'a key that was used with another body', async () => {
  const headers = { 'idempotency-key': 'once' };
  const first = await post(chat({}), headers);
  expectAnswer(first, '200', box);
  expectAnswer(await post(chat({ temperature: 1 }), headers), '409 idempotency_mismatch', box);
  const again = await post(chat({}), headers);
  expect(again.status).toBe(200);
  expect(JSON.parse(again.text)).toMatchObject({ choices: [{ message: { content: 'ok' } }] });
});

verifies('chat.errors.bad-input', 'workspace paths: what a tool left in the directory leads nowhere', async () => {
  const session = 'sess_links';
  const put = await fetch(`${box.url}/api/sessions/${session}/files/own.txt`, { method: 'PUT', body: 'own' });
  expect(put.status).toBe(201);
  const directory = await directoryOf(session);
  const outside = join(box.workspacesDir, '..', 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'SECRET');
  await symlink(outside, join(directory, 'link'));
  await symlink(join(outside, 'secret.txt'), join(directory, 'secret'));
  await symlink(join(outside, 'new.txt'), join(directory, 'dangling'));
  await symlink('loop', join(directory, 'loop'));
  expect((await runProgram('mkfifo', [join(directory, 'pipe')])).code).toBe(0);
  for (const name of ['link/secret.txt', 'secret', 'dangling', 'loop', 'loop/x', 'pipe']) {
    for (const tool of ['read_file', 'write_file']) {
      const answer = await rawRequest(box.url, {
        path: '/api/tools/call',
        body: JSON.stringify({ name: tool, arguments: { path: name, content: 'x' }, session_id: session }),
      });
      expect(answer.status, `${tool} ${name}: ${answer.text}`).toBe(422);
      expectNoLeak(answer.text, box);
      expect(answer.text).not.toContain('SECRET');
    }
    const file = { path: `/api/sessions/${session}/files/${name}`, headers: { 'content-type': null } };
    const read = await rawRequest(box.url, { ...file, method: 'GET' });
    expect([400, 404], read.text).toContain(read.status);
    expectNoLeak(read.text, box);
  }
  expect(await readdir(outside)).toEqual(['secret.txt']);

  // The directory itself is replaced.
  await rename(directory, `${directory}.away`);
  await symlink(outside, directory);
  const call = { name: 'read_file', arguments: { path: 'secret.txt' }, session_id: session };
  const answer = await rawRequest(box.url, { path: '/api/tools/call', body: JSON.stringify(call) });
  expect(answer.status).toBe(422);
  expect(answer.text).not.toContain('SECRET');
  expectNoLeak(answer.text, box);
  await fetch(`${box.url}/api/sessions/${session}`, { method: 'DELETE' });
  expect((await lstat(outside)).isDirectory()).toBe(true);
  expect(await readdir(outside)).toEqual(['secret.txt']);
});

async function directoryOf(session: string): Promise<string> {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ directory: string }>('select directory from sessions where id = $1', [
      session,
    ]);
    return join(box.workspacesDir, rows[0]!.directory);
  } finally {
    await client.end();
  }
}

verifies('chat.errors.shape', 'after all of it the gateway is well and its log is clean', async () => {
  await expectStillWell(box, residentAtStart, 512 * mebibyte);
});
