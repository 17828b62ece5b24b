// A gateway that dies while a model works for a tool server: nobody answers the server any more, and its call goes on.
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { startSignalbox } from '../support/services/start-signalbox.js';
import { startThinkingBox, type ThinkingBox, thoughtsIn } from '../support/thinking-servers.js';
import { offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const lives = { timeout: 40_000, interval: 200 };
let box: ThinkingBox<StartedProcess>;

beforeAll(async () => {
  box = await startThinkingBox(startSignalbox, { script: () => ({ never: true }) });
}, 90_000);
afterAll(() => box?.closeAll());

verifies(
  'sampling.gateway-died',
  'the other gateway has the outcome',
  async () => {
    const call = async (url: string) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'outlives' };
      const body = JSON.stringify({ name: 'think_http', arguments: {}, session_id: 'outlives' });
      const response = await fetch(`${url}/api/tools/call`, { method: 'POST', headers, body });
      return { status: response.status, body: (await response.json()) as JsonObject };
    };
    const doomed = await box.startGateway();
    await expect.poll(async () => (await offeredTools(doomed.url)).has('think_http'), lives).toBe(true);
    const asked = call(doomed.url);
    await box.upstream.received(1, 20_000);
    doomed.kill('SIGKILL');
    await expect(asked).rejects.toThrow();
    const ended = await call(box.url);
    expect(ended.status).toBe(200);
    expect(thoughtsIn(ended.body['content'] as string)).toMatchObject([
      { code: -32603, message: expect.stringContaining('no model was asked') },
    ]);
    expect(box.upstream.requests).toHaveLength(1);
  },
  120_000,
);
