import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
beforeAll(async () => {
  box = await startSignalboxHere({ script: () => ({ text: 'hi' }) });
});
afterAll(() => box.close());

interface Answer {
  status: number;
  head: string;
  body: string;
  text: string;
  /** The number of answers. */
  answers: number;
}

const goodbye = 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';

/** An answer that is complete, on a connection that stays open. */
function isKept(text: string): boolean {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  return length !== undefined && body.length >= Number(length) && !/^connection: close/im.test(head);
}

/**
 * Sends bytes and returns everything received until the server closes (or is silent for a while). Where it keeps the
 * connection, another request ends it: what the server had still to say to the first comes before that answer.
 */
async function send(url: string, ...pieces: (string | Buffer)[]): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  let said = false;
  socket.setEncoding('latin1');
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const leave = () => {
    if (said || !isKept(received)) return;
    said = true;
    socket.write(goodbye);
  };
  let sending = true;
  socket.on('data', (data: string) => {
    received += data;
    if (!sending) leave();
  });
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
    await pause(20);
  }
  sending = false;
  leave();
  await Promise.race([closed, pause(1_500)]);
  socket.destroy();
  const answers = received.split(/(?=HTTP\/1\.1 \d)/);
  if (said && answers.at(-1)!.endsWith('{"status":"ok"}')) answers.pop();
  const text = answers.join('');
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    head,
    body,
    text,
    answers: text.match(/HTTP\/1\.1 \d/g)?.length ?? 0,
  };
}

const servers = (): [string, string][] => [
  ['gateway', box.url],
  ['worker', box.workers[0]!.url],
];
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;
const chat = (headers: string, body = '') =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;
const long = 'canary'.repeat(10_000);

const cases: [what: string, sent: (string | Buffer)[], status: number, code: string][] = [
  ['percent-encoding that is none', [get('/api/tools/%zz-canary')], 400, 'invalid_value'],
  ['percent-encoding that is no UTF-8', [get('/api/tools/%c3%28canary')], 400, 'invalid_value'],
  ['raw bytes in the address', [get('/api/tools/\xff\xfecanary')], 400, 'invalid_value'],
  ['NUL in the address', [get('/api/\0canary')], 400, 'invalid_value'],
  ['a segment that is too long', [get(`/api/runs/${long.slice(0, 9_000)}`)], 404, 'not_found'],
  ['an address that is too long', [get(`/${long}`)], 413, 'request_too_large'],
  ['headers that are too long', [get('/health/live', `x-canary: ${long}\r\n`)], 413, 'request_too_large'],
  ['no HTTP at all', ['canary canary\r\n\r\n'], 400, 'invalid_value'],
  ['TLS to a plain port', [Buffer.from('16030100c8010000c40303canary', 'latin1')], 400, 'invalid_value'],
  ['an unknown method', ['CANARY / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'], 400, 'invalid_value'],
  ['two lengths', [chat('Content-Length: 5\r\nContent-Length: 6', '{"a":1')], 400, 'invalid_value'],
  ['length and chunks', [chat('Content-Length: 5\r\nTransfer-Encoding: chunked', '{"a":1')], 400, 'invalid_value'],
  ['a header with a line break', [get('/health/live', 'x: a\rcanary: b\r\n')], 400, 'invalid_value'],
  ['a chunk whose size is none', [chat('Transfer-Encoding: chunked'), 'canary\r\n'], 400, 'invalid_value'],
];

for (const [what, sent, status, code] of cases) {
  verifies('chat.errors.broken-requests', what, async () => {
    for (const [name, url] of servers()) {
      const answer = await send(url, ...sent);
      expect([name, answer.status, answer.answers, answer.body]).toEqual([name, status, 1, expect.any(String)]);
      const { error } = JSON.parse(answer.body) as { error: Record<string, string> };
      expect(error).toMatchObject({ code, type: 'invalid_request_error', request_id: expect.any(String) });
      expect(answer.head.toLowerCase()).toContain(`x-request-id: ${error['request_id']}`);
      expect(answer.head.toLowerCase()).toContain('content-type: application/json');
      expect(
        Object.keys(error)
          .filter((key) => key !== 'param')
          .sort(),
      ).toEqual(['code', 'message', 'request_id', 'type']);
      expect(answer.body).not.toMatch(/canary|node_modules|\n +at |FST_|HPE_/);
    }
  });
}

verifies('chat.errors.all-headers', 'the last of many counts', async () => {
  const many = Array.from({ length: 1_500 }, (_, at) => `h${at}:\r\n`).join('');
  for (const [name, url] of servers()) {
    const ask = (host: string) =>
      send(url, `GET /metrics HTTP/1.1\r\n${many}Host: ${host}\r\nConnection: close\r\n\r\n`);
    const [ours, strange] = await Promise.all([ask('127.0.0.1'), ask('canary.example')]);
    expect([name, ours.status, strange.status]).toEqual([name, 200, 403]);
  }
});

verifies('chat.errors.broken-requests', 'a request with two Hosts', async () => {
  const answer = await send(box.url, get('/v1/models', 'Host: canary.example\r\n'));
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'invalid_value', param: 'Host' } });
});

verifies('chat.errors.broken-requests', 'an absolute address of another, beside our Host', async () => {
  const answer = await send(box.url, get('http://canary.example/v1/models'));
  expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('host_forbidden')]);
  expect((await send(box.url, get(`${box.url}/v1/models`))).status).toBe(200);
});

verifies('chat.errors.broken-requests', 'an expectation that nobody knows is as good as none', async () => {
  for (const [name, url] of servers()) {
    const answer = await send(url, get('/health/live', 'Expect: canary\r\n'));
    expect([name, answer.status]).toEqual([name, 200]);
  }
});

verifies('chat.errors.broken-requests', 'a length above the bound', async () => {
  await Promise.all(
    servers().map(async ([name, url]) => {
      const answer = await send(url, chat('Content-Length: 10000000000'));
      expect([name, answer.status, answer.body]).toEqual([name, 413, expect.stringContaining('request_too_large')]);
    }),
  );
});

verifies('chat.errors.broken-requests', 'a request without Host', async () => {
  const answer = await send(box.url, 'GET /v1/models HTTP/1.1\r\n\r\n');
  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'host_forbidden' } });
});

verifies('chat.errors.broken-requests', 'each has one log line, and none of them is a bug of ours', async () => {
  const [gateway, worker] = [box.gateways[0]!, box.workers[0]!];
  for (const { log } of [gateway, worker]) {
    const refused = log.filter((line) => String(line['message']).startsWith('request refused'));
    expect(refused.length).toBeGreaterThan(8);
    expect(new Set(refused.map((line) => line['requestId'])).size).toBe(refused.length);
    expect(log.filter((line) => line['level'] === 'error')).toEqual([]);
    expect(JSON.stringify(log)).not.toContain('canarycanary');
  }
});

test('garbage behind an answer that has begun is not answered into it', async () => {
  const body = JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'hi' }] });
  const answer = await send(box.url, chat(`Content-Length: ${body.length}`, body), 'canary\r\n\r\n');
  // Either there is no answer, or a whole one, or a cut one: never a response head inside a body.
  const [first, ...more] = answer.text.split(/(?=HTTP\/1\.1 )/);
  expect([200, 400]).toContain(answer.status);
  if (more.length > 0) expect(first).toMatch(/\r\n0\r\n\r\n$/);
});

test('a client that leaves in the middle of its body is no bug of ours', async () => {
  const { hostname, port } = new URL(box.url);
  const requestId = 'left-in-the-middle';
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(chat(`Content-Length: 500\r\nx-request-id: ${requestId}`, '{"messages":'));
  await pause(50);
  socket.destroy();
  await box.gateways[0]!.logged((line) => line['requestId'] === requestId);
  const lines = box.gateways[0]!.log.filter((line) => line['requestId'] === requestId);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});
