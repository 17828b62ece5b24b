// A gateway dies while a keyed tool call runs: whoever is asked again has its outcome, and the tool ran once.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { readSse } from '#libs/testing/read-sse.js';
import { type Signalbox, startSignalbox } from '#libs/testing/start-signalbox.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let web: Server;
let url: string;
/** The requests of the tool that wait for their answer, by path. */
const held = new Map<string, ServerResponse[]>();

beforeAll(async () => {
  web = createServer((request, response) => {
    held.set(request.url!, [...(held.get(request.url!) ?? []), response]);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  box = await startSignalbox({ gateways: 2, environment: { TOOLS_FETCH_ALLOW: '127.0.0.1' } });
});
afterAll(async () => {
  await box?.close();
  web.closeAllConnections();
  web.close();
});

const call = (to: string, path: string, { key, accept = 'application/json' }: { key: string; accept?: string }) =>
  fetch(`${to}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key, accept },
    body: JSON.stringify({ name: 'fetch', arguments: { url: `${url}${path}`, method: 'POST' } }),
  });

for (const when of ['during', 'after'] as const) {
  verifies('reliability.keyed-call-once', `its gateway is killed; asked again ${when} the call`, async () => {
    const [path, key] = [`/${when}`, randomUUID()];
    const doomed = await box.startGateway();
    const lost = call(doomed.url, path, { key }).catch(() => 'lost');
    await expect.poll(() => held.get(path)?.length, { timeout: 10_000 }).toBe(1);
    doomed.kill('SIGKILL');
    expect(await lost).toBe('lost');
    const answer = () => held.get(path)![0]!.end('effect');
    if (when === 'after') answer();
    const json = call(box.gateways[0]!.url, path, { key });
    const stream = call(box.gateways[1]!.url, path, { key, accept: 'text/event-stream' });
    if (when === 'during') {
      // Past the lease of the gateway: its run is interrupted by now, its call is not.
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      answer();
    }
    const told = await json;
    expect([told.status, await told.json()]).toMatchObject([
      200,
      { success: true, content: expect.stringContaining('effect') },
    ]);
    const { events, done } = await readSse(await stream);
    expect(events.at(-1)).toMatchObject({ type: 'tool_result', result: { success: true } });
    expect(done).toBe(true);
    expect(held.get(path)).toHaveLength(1);
  });
}
