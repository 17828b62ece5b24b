// Bad input for each API: test/bad-inputs has the requests with the expected status and code.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import {
  canary,
  type Expected,
  expectAnswer,
  expectRpcAnswer,
  expectStillWell,
  residentBytes,
} from '../support/judge-answers.js';
import { rawRequest } from '../support/raw-request.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let url: string;
let residentAtStart: number | undefined;

beforeAll(async () => {
  box = await startSignalbox({ gateways: 0, script: () => ({ text: 'ok' }) });
  const { baseUrl } = box.upstream;
  const scripted = { kind: 'openai', base_url: baseUrl, api_key: `sk-${canary}`, models: ['model'], max_retries: 0 };
  const gateway = await box.startGateway({
    MODELS_PROVIDERS: JSON.stringify({ scripted }),
    DEFAULT_MODEL: 'scripted/model',
    ALLOWED_ORIGINS: 'https://good.example',
  });
  url = gateway.url;
  await toolsReady(url);
  residentAtStart = await residentBytes(gateway.pid);
});
afterAll(() => box?.close());

interface BadRequest {
  name: string;
  method?: string;
  path?: string;
  headers?: Record<string, string | null> & { repeat?: number };
  /** At most one of these three is set. */
  json?: unknown;
  text?: string;
  base64?: string;
  expect: Expected;
  param?: string;
}

const listed = <T>(name: string): T[] =>
  JSON.parse(readFileSync(new URL(`../bad-inputs/${name}.json`, import.meta.url), 'utf8')) as T[];

const chats = ['/api/chat/completions', '/v1/chat/completions'];
const plainChat = { messages: [{ role: 'user', content: 'x' }] };

function bodyOf({ json, text, base64 }: BadRequest): Buffer | string {
  if (base64 !== undefined) return Buffer.from(base64, 'base64');
  return text ?? JSON.stringify(json ?? plainChat);
}

/** `repeat`: how often the value of another header is repeated, for values too long to write out. */
function headersOf({ headers = {} }: BadRequest): Record<string, string | null> {
  const { repeat = 1, ...named } = headers;
  return Object.fromEntries(
    Object.entries(named).map(([name, value]) => [name, typeof value === 'string' ? value.repeat(repeat) : null]),
  );
}

async function tryRequest(bad: BadRequest): Promise<void> {
  const bodiless = bad.method === 'GET' || bad.method === 'DELETE';
  for (const path of bad.path === undefined ? chats : [bad.path]) {
    const answer = await rawRequest(url, {
      method: bad.method ?? 'POST',
      path,
      headers: {
        authorization: `Bearer ${canary}`,
        ...(bodiless ? { 'content-type': null } : {}),
        ...headersOf(bad),
      },
      ...(bodiless ? {} : { body: bodyOf(bad) }),
    });
    expectAnswer(answer, bad.expect, box, bad.param);
  }
}

for (const bad of listed<BadRequest>('chat-api')) {
  verifies('chat.errors.bad-input', `the chat API: ${bad.name}`, () => tryRequest(bad));
}
for (const bad of listed<BadRequest>('headers')) {
  verifies('chat.errors.bad-input', `headers: ${bad.name}`, () => tryRequest(bad));
}

interface BadArguments {
  name: string;
  tool: string;
  arguments?: unknown;
  expect: Expected;
}

const callTool = (body: object) =>
  rawRequest(url, {
    path: '/api/tools/call',
    headers: { authorization: `Bearer ${canary}` },
    body: JSON.stringify(body),
  });

for (const bad of listed<BadArguments>('tool-arguments')) {
  verifies('chat.errors.bad-input', `tool arguments: ${bad.name}`, async () => {
    const answer = await callTool({ name: bad.tool, arguments: bad.arguments, session_id: 'sess_arguments' });
    expectAnswer(answer, bad.expect, box);
  });
}

verifies('chat.errors.bad-input', 'tool arguments: nothing of them was run as a command', async () => {
  const answer = await callTool({ name: 'list_directory', arguments: {}, session_id: 'sess_arguments' });
  const { structured_content: listing } = JSON.parse(answer.text) as {
    structured_content: { entries: { path: string }[] };
  };
  const names = listing.entries.map((entry) => entry.path);
  expect(names).not.toContain('pwned');
  expect(names).toContain('$(touch pwned)');
});

verifies('chat.errors.bad-input', 'tool arguments: what a file says stays inside its event', async () => {
  const body = JSON.stringify({ name: 'read_file', arguments: { path: 'sse.txt' }, session_id: 'sess_arguments' });
  const headers = { accept: 'text/event-stream' };
  const answer = await rawRequest(url, { path: '/api/tools/call', headers, body });
  const lines = answer.text.split(/\r\n|\r|\n/).filter((line) => line !== '');
  expect(lines.filter((line) => !/^(?:id: \d+|data: \{.*\}|data: \[DONE\])$/.test(line))).toEqual([]);
  expect(lines.filter((line) => line === 'data: [DONE]')).toHaveLength(1);
  expect(answer.text).toContain(String.raw`\r\nevent: done\ndata: [DONE]\n\n`);
});

interface BadPath {
  name: string;
  path: string | { repeat: string; times: number };
  /** The expected answers to reading and writing it. */
  read: Expected;
  write: Expected;
}

for (const bad of listed<BadPath>('workspace-paths')) {
  verifies('chat.errors.bad-input', `workspace paths: ${bad.name}`, async () => {
    const path = typeof bad.path === 'string' ? bad.path : bad.path.repeat.repeat(bad.path.times);
    const call = (name: string, more: object = {}) =>
      callTool({ name, arguments: { path, ...more }, session_id: 'sess_paths' });
    expectAnswer(await call('read_file'), bad.read, box);
    expectAnswer(await call('write_file', { content: 'x' }), bad.write, box);
    // Over HTTP a file path is encoded once. A path that leads outside is an invalid name there.
    const file = `/api/sessions/sess_paths/files/${encodeURIComponent(path.slice(0, 6_000))}`;
    const answer = await rawRequest(url, { method: 'GET', path: file, headers: { 'content-type': null } });
    expectAnswer(answer, ['200', '400 invalid_value', '404 file_not_found', '404 not_found'], box);
    if (answer.status === 200) expect(answer.text).toBe('x');
  });
}

interface BadFrame extends BadRequest {
  /** The text that replaces REPEAT, and how often. */
  repeat?: string;
  times?: number;
}

for (const bad of listed<BadFrame>('mcp-frames')) {
  verifies('mcp.bad-frames', bad.name, async () => {
    const { method = 'POST', repeat = '', times = 0 } = bad;
    const text = bad.text?.replace('REPEAT', repeat.repeat(times));
    const answer = await rawRequest(url, {
      method,
      path: '/mcp',
      headers: {
        authorization: `Bearer ${canary}`,
        ...(method === 'POST' ? {} : { 'content-type': null }),
        ...headersOf(bad),
      },
      ...(method === 'POST' ? { body: bodyOf({ ...bad, ...(text === undefined ? {} : { text }) }) } : {}),
    });
    expectRpcAnswer(answer, bad.expect, box);
  });
}

verifies('chat.errors.shape', 'after all of it the gateway is well and its log is clean', async () => {
  await expectStillWell(box, residentAtStart, 256 * 1024 * 1024);
});
