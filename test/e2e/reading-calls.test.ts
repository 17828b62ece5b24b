// Read-only calls, by tool or by arguments: which run concurrently, in which order they are reported, and what is cached.
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import type { Script } from '../support/scripted-upstream.js';
import { readSse, postJson } from '../support/read-sse.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { messagesOf, rounds, workspaceTools, type Completion } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let script: Script;
let box: SignalboxHere;
let web: HeldWeb;

const kept = ['fetch', 'read_file', 'write_file'];
const tools = { cache_ttl_ms: Object.fromEntries(kept.map((name) => [name, 600_000])) };

beforeAll(async () => {
  web = await openHeldWeb();
  box = await startSignalboxHere({
    script: (request, number) => (script as Exclude<Script, unknown[]>)(request, number),
    environment: {
      TOOLS_FETCH_ALLOW: '127.0.0.1',
      MCP_SERVERS: JSON.stringify({ workspace: { builtin: 'workspace', tools } }),
    },
  });
});
afterAll(async () => {
  await box?.close();
  web?.close();
});

const fetchOf = (path: string, more: object = {}) => ({ name: 'fetch', arguments: { url: web.url + path, ...more } });
const turn = () => ({ messages: [{ role: 'user', content: 'go' }], tools: [workspaceTools], stream: true });

verifies('chat.auto.call-order', 'the first call ends last', async () => {
  script = rounds({ toolCalls: [fetchOf('/slow'), { name: 'get_time', arguments: {} }] }, { text: 'done' });
  const response = await postJson(`${box.url}/api/chat/completions`, turn());
  const ended: unknown[] = [];
  const { events } = await readSse(response, (event) => {
    if (event['type'] !== 'tool_result') return;
    ended.push(event['tool_call_id']);
    // The other call has ended: now the first one may end.
    void web.reached('/slow').then(() => web.answer('/slow'));
  });
  const { calls } = (events.at(-1) as unknown as Completion).tool_execution!;
  expect(calls.map(({ name }) => name)).toEqual(['fetch', 'get_time']);
  expect(ended).toEqual(calls.map(({ id }) => id).reverse());
  const shown = messagesOf(box.upstream.requests.at(-1)!).filter(({ role }) => role === 'tool');
  expect(shown.map((message) => message['tool_call_id'])).toEqual(calls.map(({ id }) => id));
});

verifies('tools.calls-that-read', 'fetches that only read are under way at once, others in call order', async () => {
  const reading = ['/a', '/b'];
  const writing = [fetchOf('/c', { method: 'POST' }), fetchOf('/d', { save_to: 'd.txt' })];
  script = rounds({ toolCalls: [...reading.map((path) => fetchOf(path)), ...writing] }, { text: 'done' });
  const answered = postJson(`${box.url}/api/chat/completions`, turn()).then((response) => readSse(response));
  await Promise.all(['/a', '/b', '/c'].map((path) => web.reached(path)));
  expect(web.count('/d')).toBe(0);
  web.answer('/c');
  await web.reached('/d');
  for (const path of ['/a', '/b', '/d']) web.answer(path);
  const { calls } = ((await answered).events.at(-1) as unknown as Completion).tool_execution!;
  expect(calls.map(({ success }) => success)).toEqual([true, true, true, true]);
  const journaled = await box.rows('select safe from tool_calls where id = any($1) order by position', [
    calls.map(({ id }) => id),
  ]);
  expect(journaled).toEqual([true, true, false, false].map((safe) => ({ safe })));
});

/** Whether it was answered from the cache. */
async function isKept(session_id: string, name: string, args: object): Promise<unknown> {
  const answer = await postJson(`${box.url}/api/tools/call`, { name, arguments: args, session_id });
  const body = (await answer.json()) as { success: boolean; cached: boolean };
  expect(body).toMatchObject({ success: true });
  return body.cached;
}

verifies('tools.results-kept', 'of builtin tools that read, for their session where they read its files', async () => {
  const page = { url: `${web.url}/kept` };
  const first = isKept('one', 'fetch', page);
  await web.reached('/kept');
  web.answer('/kept');
  expect(await first).toBe(false);
  // A result is kept beside its answer: the next call may still ask.
  web.answerAlways('/kept');
  await expect.poll(() => isKept('two', 'fetch', page)).toBe(true);

  const file = { path: 'a.txt' };
  for (const session of ['one', 'two']) {
    expect(await isKept(session, 'write_file', { ...file, content: session })).toBe(false);
    expect(await isKept(session, 'write_file', { ...file, content: session })).toBe(false);
    expect(await isKept(session, 'read_file', file)).toBe(false);
    await expect.poll(() => isKept(session, 'read_file', file)).toBe(true);
    // Another file by the same name has a result of its own.
    expect(await isKept(session, 'write_file', { ...file, content: `${session} again` })).toBe(false);
    expect(await isKept(session, 'read_file', file)).toBe(false);
    await expect.poll(() => isKept(session, 'read_file', file)).toBe(true);
  }

  for (const more of [{ method: 'POST' }, { save_to: 'kept.txt' }]) {
    for (const before of [web.count('/kept'), web.count('/kept') + 1]) {
      expect(await isKept('one', 'fetch', { ...page, ...more })).toBe(false);
      expect(web.count('/kept')).toBe(before + 1);
    }
  }
});
