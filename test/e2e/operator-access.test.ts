// Operator routes requested from elsewhere: gateway and worker refuse with the same error shape.
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { startProcess } from '../support/services/start-process.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const token = 'a-token-of-the-operator';
const paths = [
  '/metrics',
  '/docs',
  '/docs/',
  '/docs/swagger-ui.css',
  '/openapi.json',
  '/api/servers',
  '/api/tools/changes',
];
/** The header of a proxy, which makes the peer address meaningless. */
const fromElsewhere = { 'x-forwarded-for': '203.0.113.9' };
let box: Signalbox;

beforeAll(async () => {
  box = await startSignalbox({ scripted: false });
});
afterAll(() => box?.close());

async function ask(url: string, headers: Record<string, string> = fromElsewhere, method = 'GET') {
  const answer = await fetch(url, { method, headers, redirect: 'manual' });
  const text = await answer.text();
  const { error } = answer.ok || answer.status < 400 ? {} : (JSON.parse(text) as { error?: { code?: string } });
  return [url, answer.status, error?.code];
}

verifies('operations.operator-routes', 'without METRICS_TOKEN: this machine only', async () => {
  const urls = [...paths.map((path) => box.url + path), `${box.workers[0]!.url}/metrics`];
  for (const url of urls) expect(await ask(url)).toEqual([url, 403, 'insufficient_scope']);
});

verifies('operations.operator-routes', 'with METRICS_TOKEN: who shows it', async () => {
  const environment = { METRICS_TOKEN: token };
  const [gateway, worker] = await Promise.all([box.startGateway(environment), box.startWorker(environment)]);
  for (const url of [...paths.map((path) => gateway.url + path), `${worker.url}/metrics`]) {
    expect(await ask(url)).toEqual([url, 401, 'invalid_api_key']);
    expect(await ask(url, { ...fromElsewhere, authorization: 'Bearer no' })).toEqual([url, 401, 'invalid_api_key']);
    const admitted = url.endsWith('/docs') ? 302 : 200;
    expect(await ask(url, { ...fromElsewhere, authorization: `Bearer ${token}` })).toEqual([url, admitted, undefined]);
  }
});

verifies('operations.operator-routes', 'other refusals on the API pages', async () => {
  for (const path of ['/docs', '/docs/', '/openapi.json']) {
    const url = box.url + path;
    expect(await ask(url, { origin: 'https://evil.example' })).toEqual([url, 403, 'origin_forbidden']);
    expect(await ask(url, {}, 'DELETE')).toEqual([url, 405, 'method_not_allowed']);
  }
  const missing = `${box.url}/docs/missing.js`;
  expect(await ask(missing, {})).toEqual([missing, 404, 'not_found']);
});

verifies('operations.metrics-move', 'command servers that are refused for lack of isolation', async () => {
  expect(await metricOf(box.workers[0]!.url, 'signalbox_isolation_refused_servers')).toBe(0);
  const server = { command: process.execPath, args: ['-e', ''] };
  const servers = { strong: { ...server, isolation: 'namespace' }, missing: { command: 'no-such-program' } };
  // Without a PATH there is no bubblewrap.
  const worker = await box.startWorker({ MCP_SERVERS: JSON.stringify(servers), PATH: '/nowhere' });
  expect(await metricOf(worker.url, 'signalbox_isolation_refused_servers')).toBe(1);
  expect(await metricOf(worker.url, 'signalbox_mcp_servers{state="refused"}')).toBe(2);
  expect(await worker.stop()).toBe(0);
});

verifies('operations.health-degraded', 'a worker whose workspaces are not those of the others', async () => {
  const checkOf = async (url: string) => {
    const report = (await (await fetch(`${url}/health/ready`)).json()) as { checks: { name: string }[] };
    return report.checks.find(({ name }) => name === 'shared workspaces');
  };
  expect(await checkOf(box.workers[0]!.url)).toEqual({ name: 'shared workspaces', status: 'ok' });
  const apart = await box.startWorker({ WORKSPACES_DIR: join(dirname(box.workspacesDir), 'apart') });
  const line = await apart.logged(({ message }) => String(message).includes('has another directory than'));
  expect(line).toMatchObject({ level: 'error', metadata: { setting: 'WORKSPACES_DIR' } });
  expect(await checkOf(apart.url)).toMatchObject({
    status: 'degraded',
    reason: expect.stringMatching(
      /^WORKSPACES_DIR: this process has another directory than \d+ other processes/,
    ) as string,
  });
  // A gateway too says it, as soon as its check runs again.
  await expect.poll(() => checkOf(box.url), { timeout: 10_000 }).toMatchObject({ status: 'degraded' });
  expect(await apart.stop()).toBe(0);
});

verifies('operations.metrics-port', 'of gateway, worker and Chimech; a port that is taken is named', async () => {
  const environment = { METRICS_PORT: '0', METRICS_TOKEN: token };
  const processes = await Promise.all([
    box.startGateway(environment),
    box.startWorker(environment),
    startProcess('chimech', { environment: { ...environment, CHIMECH_GATEWAY_URL: box.url } }),
  ]);
  for (const process of processes) {
    const { metadata } = await process.logged(({ message }) => message === 'metrics listen');
    const { port } = metadata as { port: number };
    const alone = `http://127.0.0.1:${port}`;
    expect((await fetch(`${process.url}/metrics`)).status).toBe(404);
    expect(await ask(`${process.url}/health/live`, {})).toEqual([`${process.url}/health/live`, 200, undefined]);
    const text = await (await fetch(`${alone}/metrics`)).text();
    expect(text).toMatch(/^(?:signalbox_errors_total|chimech_api_key_rotation_due)/m);
    for (const path of ['/', '/health/live', '/mcp', '/api/tools', '/v1/models']) {
      expect(await ask(alone + path, {})).toEqual([alone + path, 404, 'not_found']);
    }
    expect(await ask(`${alone}/metrics`, {}, 'POST')).toEqual([`${alone}/metrics`, 405, 'method_not_allowed']);
    expect(await ask(`${alone}/metrics`)).toEqual([`${alone}/metrics`, 401, 'invalid_api_key']);
    const admitted = { ...fromElsewhere, authorization: `Bearer ${token}` };
    expect(await ask(`${alone}/metrics`, admitted)).toEqual([`${alone}/metrics`, 200, undefined]);
    const second = startProcess('chimech', { environment: { METRICS_PORT: String(port) } });
    await expect(second).rejects.toThrow(/metrics\.port: cannot listen on 127\.0\.0\.1:\d+, which is in use/);
    expect(await process.stop()).toBe(0);
  }
});
