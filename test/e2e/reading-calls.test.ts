// The calls of one round: which run at once, and in which order they are told.
import { afterAll, beforeAll, expect } from 'vitest';
import { type Signalbox, startSignalbox } from '#libs/testing/start-signalbox.js';
import type { Script } from '#libs/testing/scripted-upstream.js';
import { readSse, postJson } from '#libs/testing/read-sse.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { messagesOf, rounds, workspaceTools, type Completion } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let script: Script;
let box: Signalbox;
let web: HeldWeb;

beforeAll(async () => {
  web = await openHeldWeb();
  box = await startSignalbox({
    script: (request, number) => (script as Exclude<Script, unknown[]>)(request, number),
    environment: { TOOLS_FETCH_ALLOW: '127.0.0.1' },
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
    // The other one has ended: now the first may.
    void web.reached('/slow').then(() => web.answer('/slow'));
  });
  const { calls } = (events.at(-1) as unknown as Completion).tool_execution!;
  expect(calls.map(({ name }) => name)).toEqual(['fetch', 'get_time']);
  expect(ended).toEqual(calls.map(({ id }) => id).reverse());
  const shown = messagesOf(box.upstream.requests.at(-1)!).filter(({ role }) => role === 'tool');
  expect(shown.map((message) => message['tool_call_id'])).toEqual(calls.map(({ id }) => id));
});
