// Running processes run out of resources: disk space (RLIMIT_FSIZE 0: no byte can be written) and file descriptors
// (RLIMIT_NOFILE at the next number: no file or connection can be opened).
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { HealthReport } from '#libs/health/health.js';
import { postJson } from '../support/read-sse.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { expectOneRecordEach } from '../support/joined-records.js';
import { plainChat } from '../support/outage-probe.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
const session_id = 'scarce';

beforeAll(async () => {
  // A write beyond the limit raises a signal, which a full disk does not.
  const heard = `data:text/javascript,process.on('SIGXFSZ',()=>{})`;
  const environment = { NODE_OPTIONS: `--import=${heard}`, TOOLS_MAX_RESULT_BYTES: '2000' };
  box = await startSignalbox({ script: () => ({ text: 'plain' }), environment });
});
afterEach(() => {
  for (const each of everyone()) limit(each, '--fsize=unlimited:', `--nofile=${openFiles}:`);
});
afterAll(() => box?.close());

const openFiles = 1_024;
const everyone = () => [box.gateways[0]!, box.workers[0]!];

/** The lowest free descriptor number: with this limit, the next open fails. */
function lowestFree({ pid }: StartedProcess): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  for (let number = 0; ; number += 1) if (!open.has(number)) return number;
}

/** Sets only the soft limits, which can be raised again. */
function limit({ pid }: StartedProcess, ...limits: string[]): void {
  execFileSync('prlimit', ['--pid', String(pid), ...limits]);
}

interface Called {
  success?: boolean;
  error?: { code: string; message: string };
}

async function call(name: string, args: object): Promise<Called> {
  const answer = await postJson(`${box.url}/api/tools/call`, { name, arguments: args, session_id });
  return (await answer.json()) as Called;
}

const fileUrl = (path: string) => `${box.url}/api/sessions/${session_id}/files/${path}`;
const upload = (path: string, body: string) => fetch(fileUrl(path), { method: 'PUT', body });
async function workspacesOf({ url }: StartedProcess) {
  const { checks } = (await (await fetch(`${url}/health/ready`)).json()) as { checks: { name: string }[] };
  return checks.find(({ name }) => name === 'workspaces');
}
const chatWorks = async () => (await postJson(`${box.url}/v1/chat/completions`, plainChat)).status === 200;

verifies('reliability.disk-full', 'of a worker that writes and of a gateway that takes an upload', async () => {
  expect(await call('write_file', { path: 'kept.txt', content: 'before\n'.repeat(1_000) })).toMatchObject({
    success: true,
  });
  expect((await upload('uploaded.txt', 'before')).status).toBeLessThan(300);
  for (const each of everyone()) limit(each, '--fsize=0:');

  for (const path of ['kept.txt', 'new.txt']) {
    const full = await call('write_file', { path, content: 'after' });
    expect(full).toMatchObject({ error: { code: 'workspace_unavailable' } });
  }
  for (const path of ['uploaded.txt', 'new.txt']) {
    const refused = await upload(path, 'after');
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'workspace_unavailable' } }]);
  }
  // Readiness is cached for a second.
  for (const each of everyone()) await expect.poll(() => workspacesOf(each)).toMatchObject({ status: 'degraded' });
  // Existing data is intact, there are no partial files, and operations without disk use still work.
  expect(await (await fetch(fileUrl('kept.txt'))).text()).toBe('before\n'.repeat(1_000));
  expect(await (await fetch(fileUrl('uploaded.txt'))).text()).toBe('before');
  expect((await fetch(fileUrl('new.txt'))).status).toBe(404);
  // There is no room to keep its full text.
  expect(await call('read_file', { path: 'kept.txt' })).toMatchObject({ success: true });
  expect(await chatWorks()).toBe(true);

  for (const each of everyone()) limit(each, '--fsize=unlimited:');
  for (const each of everyone()) await expect.poll(() => workspacesOf(each)).toMatchObject({ status: 'ok' });
  expect(await call('write_file', { path: 'kept.txt', content: 'after' })).toMatchObject({ success: true });
  expect((await upload('uploaded.txt', 'after')).status).toBeLessThan(300);
  const [{ directory }] = (await box.rows<{ directory: string }>('select directory from sessions')) as [never];
  const files = await readdir(join(box.workspacesDir, directory), { recursive: true });
  expect(files.filter((name) => /kept|uploaded|new/.test(name)).sort()).toEqual(['kept.txt', 'uploaded.txt']);
  await expectOneRecordEach(box, 10_000);
});

verifies('tools.workspace-free-reserve', 'to the caller, the model, in readiness and metrics', async () => {
  const environment = { WORKSPACES_MIN_FREE_BYTES: String(2 ** 52) };
  const full = await startSignalbox({ environment });
  try {
    const refused = await fetch(`${full.url}/api/sessions/full/files/x`, { method: 'PUT', body: 'x' });
    expect([refused.status, refused.headers.has('retry-after'), await refused.json()]).toMatchObject([
      503,
      true,
      { error: { code: 'workspace_disk_full', type: 'overloaded_error' } },
    ]);
    const body = { name: 'write_file', arguments: { path: 'x', content: 'x' }, session_id: 'full' };
    const failed = (await (await postJson(`${full.url}/api/tools/call`, body)).json()) as Called;
    expect(failed).toMatchObject({
      error: { code: 'workspace_disk_full', message: expect.stringContaining('disk of the workspaces is full') },
    });
    for (const { url } of [full.gateways[0]!, full.workers[0]!]) {
      const { status, checks } = (await (await fetch(`${url}/health/ready`)).json()) as HealthReport;
      expect([status, checks.find(({ name }) => name === 'workspaces')?.status]).toEqual(['degraded', 'degraded']);
    }
    const metrics = async ({ url }: StartedProcess) => (await fetch(`${url}/metrics`)).text();
    // One for the upload, one for the call.
    expect(await metrics(full.gateways[0]!)).toMatch(/errors_total\{[^}]*code="workspace_disk_full"[^}]*\} 2$/m);
    expect(await metrics(full.workers[0]!)).toMatch(/signalbox_workspace_free_bytes \d/);
  } finally {
    await full.close();
  }
});

verifies('reliability.no-descriptors', 'of a worker: the call fails with a reason, the next one runs', async () => {
  await call('write_file', { path: 'open.txt', content: 'x' });
  const [worker] = box.workers;
  limit(worker!, `--nofile=${lowestFree(worker!)}:`);
  expect(await call('read_file', { path: 'open.txt' })).toMatchObject({ error: { code: 'tool_failed' } });
  limit(worker!, `--nofile=${openFiles}:`);
  expect(await call('read_file', { path: 'open.txt' })).toMatchObject({ success: true });
  await expectOneRecordEach(box, 10_000);
});

/** Sends a request on its own connection, which stays open. The status is undefined if the connection was closed. */
function hold(url: string, text: string): { socket: Socket; status: Promise<number | undefined> } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(text);
  const status = new Promise<number | undefined>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(Number(bytes.toString('latin1', 9, 12))));
    socket.once('close', () => resolve(undefined));
  });
  return { socket, status };
}

verifies('reliability.connections', 'of a gateway and a worker that many connect to at once', async () => {
  const limits = { openFiles: 512 };
  const processes = await Promise.all([box.startGateway({}, limits), box.startWorker({}, limits)]);
  const alive = 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  for (const { url, log } of processes) {
    const held = Array.from({ length: 500 }, () => hold(url, alive));
    const taken = (await Promise.all(held.map(({ status }) => status))).filter((status) => status !== undefined);
    expect(taken).toEqual(Array(256).fill(200));
    const refusals = log.filter(({ message }) => String(message).startsWith('connections were refused'));
    expect(refusals[0]).toMatchObject({ level: 'warn', metadata: { connections: 256, openFiles: 512 } });
    expect(refusals.length).toBeLessThan(10);
    // Accepted connections are served with everything they need.
    const [{ socket }] = held.filter((each) => !each.socket.destroyed) as [(typeof held)[number]];
    const answered = once(socket, 'data');
    socket.write(alive.replace('live', 'ready'));
    expect(String(await answered)).toContain('"status":"ok"');
    if (url === processes[0].url) {
      const said = once(socket, 'data');
      const body = JSON.stringify(plainChat);
      const head = `Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`);
      expect(String(await said)).toMatch(/^HTTP\/1\.1 200 /);
    }
    for (const each of held) each.socket.destroy();
    const metrics = async () => {
      const answer = await fetch(`${url}/metrics`).catch(() => undefined);
      return answer?.text();
    };
    await expect
      .poll(metrics, { timeout: 10_000 })
      .toMatch(/^signalbox_rate_limited_total\{limit="connections"\} 2[4-9]\d$/m);
  }
});
