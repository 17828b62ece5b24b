// A Signalbox for tests of replays: two owners and an administrator, a tool server that counts its calls, and a policy that denies
// and asks.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { ListedRun, RunDetails } from '../../clients/typescript/src/index.js';
import { type CountingServer, startCountingServer } from './counting-server.js';
import type { ReceivedRequest, ScriptedAnswer } from './scripted-upstream.js';
import { messagesOf } from './scripts.js';
import type { Started } from './services/start-process.js';
import { temporaryDirectory } from './services/start-process.js';
import type { Signalbox, SignalboxOptions } from './services/start-signalbox.js';

export const shopTools = { type: 'mcp', server_label: 'shop' };
export const user = (content: string) => ({ role: 'user', content });

/** Asks for the calls, then tells the last result. */
export const calling =
  (...asked: [name: string, amount: number][]) =>
  (request: ReceivedRequest): ScriptedAnswer => {
    const last = messagesOf(request).at(-1)!;
    if (last['role'] === 'tool') return { text: `It said: ${last['content'] as string}` };
    return { toolCalls: asked.map(([name, amount]) => ({ name, arguments: { amount } })) };
  };

export const answerOf = ({ round_list: rounds = [] }: RunDetails) => rounds.at(-1)!.message['content'];

/** Name, state, where the result came from, and the verdict of the policy. */
export const shownCalls = ({ call_list: list = [] }: RunDetails) =>
  list.map(({ name, state, replayed, policy }) => [name, state, replayed, policy?.verdict ?? null]);

export async function replayToItsEnd(here: Replaying, who: string, id: string, body?: unknown): Promise<RunDetails> {
  const answer = await here.replay(who, id, body);
  expect([answer.status, answer.body]).toEqual([202, answer.body]);
  expect(answer.body).toMatchObject({ replay_of: id, state: expect.any(String) });
  return here.ended(who, answer.body.id);
}

const rules = [
  { name: 'never-666', tool: 'shop/charge', arguments: [{ path: '$.amount', equals: 666 }], effect: 'deny' },
  { name: 'refunds', tool: 'shop/refund', effect: 'require_approval', reason: 'Money goes out' },
  { name: 'nobody', tool: 'shop/hidden', effect: 'deny', reason: 'Not for anybody' },
];

export interface Replaying {
  box: Signalbox<Started>;
  shop: CountingServer;
  /** What the models say from now on. */
  follow: (script: (request: ReceivedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>) => void;
  keys: Record<string, { id: string; key: string }>;
  makeKey: (owner: string, members?: object) => Promise<void>;
  ask: (who: string, path: string, body?: unknown, init?: RequestInit) => Promise<Answer>;
  /** Runs a chat with the tools of the shop. Returns its run. */
  chat: (who: string, members: object, path?: string, headers?: Record<string, string>) => Promise<string>;
  replay: (who: string, id: string, body?: unknown) => Promise<Answer & { body: ListedRun & ApiError }>;
  details: (who: string, id: string) => Promise<RunDetails>;
  /** The replay once it has ended. */
  ended: (who: string, id: string) => Promise<RunDetails>;
  close: () => Promise<void>;
}

interface ApiError {
  error?: { code: string; message: string; param?: string; type: string; problems?: unknown };
}

export interface Answer {
  status: number;
  body: unknown;
  headers: Headers;
}

export async function startReplaying(
  start: (options: SignalboxOptions) => Promise<Signalbox<Started>>,
  options: SignalboxOptions = {},
): Promise<Replaying> {
  const [shop, directory] = await Promise.all([startCountingServer(), temporaryDirectory()]);
  const file = join(directory.path, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { rules }, mcpServers: { shop: { url: shop.url } } }));
  let script: Parameters<Replaying['follow']>[0] = () => ({ text: 'nothing' });
  const box = await start({
    ...options,
    script: (request) => script(request),
    environment: {
      SIGNALBOX_CONFIG: file,
      MODELS_PRICES: JSON.stringify({ 'scripted/*': { input: 1, output: 2 } }),
      ...options.environment,
    },
  });
  const keys: Replaying['keys'] = {};
  const ask: Replaying['ask'] = async (who, path, body, init = {}) => {
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      ...(keys[who] === undefined ? {} : { authorization: `Bearer ${keys[who].key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(init.headers as object),
    };
    const given = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(box.url + path, { ...given, ...init, headers });
    const text = await answer.text();
    const read: unknown = /^[{[]/.test(text) ? JSON.parse(text) : text;
    return { status: answer.status, body: read, headers: answer.headers };
  };
  const details: Replaying['details'] = async (who, id) =>
    (await ask(who, `/api/runs/${id}?include=rounds,calls,events`)).body as RunDetails;
  const replaying: Replaying = {
    box,
    shop,
    follow: (next) => (script = next),
    keys,
    makeKey: async (owner, members = {}) => {
      const body = JSON.stringify({ owner, scopes: ['chat', 'tools'], ...members });
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      if (keys['root'] !== undefined) headers['authorization'] = `Bearer ${keys['root'].key}`;
      const answer = await fetch(`${box.url}/api/keys`, { method: 'POST', headers, body });
      expect(answer.status).toBe(201);
      keys[owner] = (await answer.json()) as { id: string; key: string };
    },
    ask,
    chat: async (who, members, path = '/api/chat/completions', headers = {}) => {
      const answer = await ask(who, path, { tools: [shopTools], ...members }, { headers });
      expect([answer.status, answer.body]).toEqual([200, answer.body]);
      return answer.headers.get('x-run-id')!;
    },
    replay: (who, id, body) => ask(who, `/api/runs/${id}/replay`, body, { method: 'POST' }) as never,
    details,
    ended: async (who, id) => {
      // The stream of a run ends with it.
      await ask(who, `/api/runs/${id}/events`);
      return details(who, id);
    },
    close: async () => {
      await box.close();
      await Promise.all([shop.close(), directory.remove()]);
    },
  };
  try {
    await replaying.makeKey('root', { scopes: ['admin', 'chat'] });
    for (const owner of ['alice', 'bob']) await replaying.makeKey(owner);
    // Until a gateway has heard that there are keys, everybody is `local` there.
    for (const { url } of box.gateways) {
      const unnamed = () => fetch(`${url}/api/tools`);
      await vi.waitFor(async () => expect((await unnamed()).status).toBe(401), { timeout: 20_000, interval: 50 });
    }
    await vi.waitFor(
      async () => expect(JSON.stringify((await ask('alice', '/api/tools')).body)).toContain('"refund"'),
      { timeout: 20_000, interval: 50 },
    );
  } catch (error) {
    await replaying.close();
    throw error;
  }
  return replaying;
}
