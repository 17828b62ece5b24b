// The first requests of a gateway, before its first worker: what depends on tools waits a moment for them.
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { functionTool, user } from '../support/chat-client.js';
import { post } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
beforeAll(async () => {
  const script = ({ body }: { body: unknown }) =>
    JSON.stringify(body).includes('"role":"tool"')
      ? { text: 'It is read.' }
      : { toolCalls: [{ name: 'get_time', arguments: {} }] };
  box = await startSignalboxHere({ script, workers: 0, environment: { TOOLS_WORKER_WAIT_MS: '60000' } });
});
afterAll(() => box?.close());

const status = async (path: string) => (await fetch(`${box.url}${path}`)).status;
const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

verifies('chat.first-requests', 'server tools are known to every door, and readiness waits for them', async () => {
  expect(await status('/health/live')).toBe(200);
  expect(await status('/health/ready')).toBe(503);
  const turn = { messages: [user('What time is it?')], tools: [functionTool('get_time', 'The time.', {})] };
  const asked = Promise.all([
    post(box.url, '/api/chat/completions', turn),
    post(box.url, '/v1/chat/completions', { ...turn, tools: [{ type: 'mcp', server_label: 'workspace' }] }),
    post(box.url, '/mcp', rpc('tools/list')),
    post(box.url, '/mcp', rpc('tools/call', { name: 'get_time', arguments: {} })),
    post(box.url, '/api/tools/call', { name: 'get_time', arguments: {} }),
    fetch(`${box.url}/api/tools`).then(async (answer) => ({ body: await answer.json() })),
    fetch(`${box.url}/api/tools/get_time`).then((answer) => ({ status: answer.status })),
  ]);
  // A plain chat needs no worker.
  expect((await post(box.url, '/v1/chat/completions', { messages: [user('hello')] })).status).toBe(200);
  expect(await status('/health/ready')).toBe(503);
  await box.startWorker();
  const [events, strict, listed, called, call, tools, one] = await asked;
  expect(events.body).toMatchObject({ choices: [{ finish_reason: 'stop', message: { content: 'It is read.' } }] });
  expect(strict.body).toMatchObject({ choices: [{ finish_reason: 'stop' }], tool_execution: { executed: true } });
  expect(JSON.stringify(listed.body)).toContain('"get_time"');
  expect(called.body).toMatchObject({ result: { content: [{ type: 'text' }, { type: 'text' }] } });
  expect(call).toMatchObject({ status: 200, body: { success: true } });
  expect(JSON.stringify(tools.body)).toContain('"get_time"');
  expect(one).toEqual({ status: 200 });
  await expect.poll(() => status('/health/ready')).toBe(200);
});

verifies('chat.first-requests', 'without any worker it is ready after the time that calls wait for one', async () => {
  const gateway = await box.startGateway({ TOOLS_WORKER_WAIT_MS: '300' });
  await expect.poll(async () => (await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
});
