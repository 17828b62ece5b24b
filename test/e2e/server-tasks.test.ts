// Tool servers that make tasks of calls, through gateway, queue and worker.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { askedClients } from '../support/asking-clients.js';
import { listeningFixture, type ListeningFixture } from '../support/listening-fixture.js';
import { type Signalbox, startSignalboxHere } from '../support/services/start-signalbox.js';
import type { Started } from '../support/services/start-process.js';
import { callTool, offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const long = { timeout: 25_000, interval: 100 };
const directory = mkdtempSync(join(tmpdir(), 'signalbox-tasks-'));
let http: ListeningFixture;
let box: Signalbox<Started>;

beforeAll(async () => {
  http = await listeningFixture('new-tasks');
  const mcpServers = { mill: { url: `${http.address}/mcp`, timeout_ms: 1_500, max_timeout_ms: 6_000 } };
  const policy = { rules: [{ name: 'all', tool: '*/*', effect: 'allow' }] };
  writeFileSync(join(directory, 'signalbox.yaml'), JSON.stringify({ policy, mcpServers }));
  box = await startSignalboxHere({ environment: { SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml') } });
  await vi.waitFor(async () => expect([...(await offeredTools(box.url)).keys()]).toContain('endless'), long);
}, 60_000);
afterAll(async () => {
  await box?.close();
  http?.close();
  rmSync(directory, { recursive: true });
});

const call = async (name: string, args: object = {}) =>
  (await callTool(box.url, { name, arguments: args, session_id: 'sess_tasks' })).body;
/** The names of the tools whose calls and cancelled tasks the server has seen. */
const report = async () =>
  JSON.parse((await call('report')).content as string) as { calls: string[]; cancelled: string[] };
const cancelled = async () => (await report()).cancelled.length;
const endless = async () => (await report()).calls.filter((name) => name === 'endless').length;

verifies('tools.tasks-followed', 'beyond the time of a silent call', async () => {
  expect(await call('work', { steps: 25 })).toMatchObject({ success: true, content: '{"looks":25}' });
});

verifies('tools.tasks-cancelled', 'when its time is up', async () => {
  const before = await cancelled();
  expect(await call('endless')).toMatchObject({ error: { code: 'tool_timeout' } });
  await expect.poll(cancelled, long).toBe(before + 1);
});

verifies('tools.tasks-cancelled', 'when its caller has gone', async () => {
  const [before, begun] = [await cancelled(), await endless()];
  const left = new AbortController();
  const body = JSON.stringify({ name: 'endless', arguments: {}, session_id: 'sess_tasks' });
  const headers = { 'content-type': 'application/json' };
  const calling = fetch(`${box.url}/api/tools/call`, { method: 'POST', headers, body, signal: left.signal });
  calling.catch(() => undefined);
  await expect.poll(endless, long).toBe(begun + 1);
  left.abort();
  await expect(calling).rejects.toThrow();
  await expect.poll(cancelled, long).toBe(before + 1);
});

for (const [name, connect] of Object.entries(askedClients)) {
  verifies('tools.tasks-ask', `a client of /mcp, ${name}`, async () => {
    const client = await connect(box.url, () => ({ action: 'accept', content: { name: 'Ada' } }));
    const { content } = await client.call({ name: 'book', arguments: {} });
    await client.close();
    expect(content).toMatchObject([{ text: '[{"action":"accept","content":{"name":"Ada"}}]' }]);
  });
}
