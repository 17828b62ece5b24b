// Tool servers added, changed and removed in the configuration file of a running worker.
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { isAlive } from '#libs/process/process-identity.js';
import { startSignalbox, type Signalbox } from '../support/services/start-signalbox.js';
import { fixture } from '../support/tool-servers.js';
import { callTool, metricOf, offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-reload-'));
const file = join(directory, 'signalbox.yaml');
const secret = join(directory, 'greeting');
const patient = { timeout: 25_000, interval: 50 };
let box: Signalbox;

const call = (name: string, args: object = {}) =>
  callTool(box.url, { name, arguments: args, session_id: 'sess_reload' });
const offered = () => offeredTools(box.url);
const reloads = (outcome: string) =>
  metricOf(box.workers[0]!.url, `signalbox_config_reloads_total{outcome="${outcome}"}`);

async function configurationHealth(): Promise<{ status: string; reason?: string } | undefined> {
  const { checks } = (await (await fetch(`${box.workers[0]!.url}/health/ready`)).json()) as {
    checks: { name: string; status: string; reason?: string }[];
  };
  return checks.find(({ name }) => name === 'configuration');
}

/** A server on the fixture, whose tools are offered under its own name. */
const server = (name: string, env: Record<string, string> = {}) => ({
  command: 'node',
  args: [fixture('hostile')],
  env,
  tools: { include: ['where', 'echo', 'held'], rename: { where: `${name}_where`, held: `${name}_held` } },
});

/** Replaces the file atomically, like an editor. */
function write(text: string): void {
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}
const configure = (mcpServers: Record<string, object>, more: object = {}) =>
  write(JSON.stringify({ mcpServers, ...more }));

const where = async (name: string) =>
  (await call(`${name}_where`)).body.structured_content as { pid: number; environment: Record<string, string> };
const steady = server('steady');
const greeting = { GREETING: '${GREETING}' };

beforeAll(async () => {
  configure({});
  writeFileSync(secret, 'canary-greeting-one');
  box = await startSignalbox({
    scripted: false,
    environment: { SIGNALBOX_CONFIG: file, GREETING_FILE: secret },
  });
});
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true });
});

verifies(
  'tools.reload',
  'added in the file: offered and called, and the first in order has the bare name',
  async () => {
    configure({ steady, other: server('other', greeting) });
    await expect.poll(async () => [...(await offered()).keys()], patient).toContain('other_where');
    await expect.poll(async () => (await offered()).get('echo')?.server, patient).toBe('steady');
    expect((await where('other')).environment['GREETING']).toBe('canary-greeting-one');
    const { pid } = await where('steady');
    configure({ other: server('other', greeting), steady });
    await expect.poll(async () => (await offered()).get('echo')?.server, patient).toBe('other');
    expect((await where('steady')).pid).toBe(pid);
  },
);

verifies('tools.reload', 'refused until its program is installed, then served by itself', async () => {
  const command = join(directory, 'installed-late');
  configure({ steady, other: server('other', greeting), late: { ...server('late'), command } });
  const state = async () => {
    const { servers } = (await (await fetch(`${box.url}/api/servers`)).json()) as {
      servers: { name: string; state: string }[];
    };
    return servers.find((each) => each.name === 'late')?.state;
  };
  await expect.poll(state, patient).toBe('refused');
  symlinkSync(process.execPath, command);
  await expect.poll(state, patient).toBe('ready');
  expect(await where('late')).toMatchObject({ pid: expect.any(Number) as number });
  configure({ other: server('other', greeting), steady });
  await expect.poll(async () => [...(await offered()).keys()], patient).not.toContain('late_where');
});

verifies('tools.reload', 'changed: a new instance for the next call, the unchanged one stays', async () => {
  const before = await Promise.all(['steady', 'other'].map(where));
  // Files of secrets are not watched, which is why the signal exists.
  writeFileSync(secret, 'canary-greeting-two');
  box.workers[0]!.kill('SIGHUP');
  box.gateways[0]!.kill('SIGHUP');
  await expect.poll(async () => (await where('other')).environment['GREETING'], patient).toBe('canary-greeting-two');
  const after = await Promise.all(['steady', 'other'].map(where));
  expect(after.map(({ pid }, index) => pid === before[index]!.pid)).toEqual([true, false]);
  await expect.poll(() => isAlive(before[1]!.pid), patient).toBe(false);
  await box.gateways[0]!.logged(({ metadata }) => (metadata as { why?: string })?.why === 'SIGHUP');
  const read = await box.workers[0]!.logged(({ metadata }) => (metadata as { why?: string })?.why === 'SIGHUP');
  expect(read['metadata']).toMatchObject({ added: [], changed: ['other'], removed: [] });
});

verifies(
  'operations.config-reload',
  'a broken file changes nothing and is reported until a good one is read',
  async () => {
    write('mcpServers: { steady: { command: node, env: { KEY: canary-literal } }, [');
    await expect.poll(async () => (await configurationHealth())?.status, patient).toBe('degraded');
    expect(JSON.stringify(await configurationHealth())).not.toContain(directory);
    expect(await reloads('rejected')).toBe(1);
    expect((await where('other')).environment['GREETING']).toBe('canary-greeting-two');
    configure({ steady, other: server('other', greeting) }, { tools: { timeout_ms: 61_000 } });
    await expect.poll(async () => (await configurationHealth())?.status, patient).toBe('ok');
    const needs = await box.workers[0]!.logged(({ message }) => String(message).includes('need a restart'));
    expect(needs['metadata']).toEqual({ settings: ['tools.timeout_ms'] });
    expect(await reloads('applied')).toBeGreaterThanOrEqual(4);
    expect(JSON.stringify(box.workers[0]!.log)).not.toContain('canary');
  },
);

verifies(
  'tools.reload',
  'removed while a call runs: that one completes, the tool is gone, its process ends',
  async () => {
    const { pid } = await where('other');
    const running = call('other_held', { until: '/mcp_workspaces/sess_reload/go' });
    await expect
      .poll(async () => (await box.rows("select 1 from tool_calls where state = 'dispatched'")).length)
      .toBe(1);
    configure({ steady });
    await expect.poll(async () => (await offered()).has('other_held'), patient).toBe(false);
    expect(await call('other_where')).toMatchObject({ status: 404, body: { error: { code: 'tool_not_found' } } });
    expect(isAlive(pid)).toBe(true);
    await call('write_file', { path: 'go', content: '' });
    expect(await running).toMatchObject({ status: 200, body: { content: 'let go' } });
    await expect.poll(() => isAlive(pid), patient).toBe(false);
    const [audit] = await box.rows<{ isolation: string }>(
      "select isolation from audit_events where tool = 'other_held'",
    );
    expect(audit).toEqual({ isolation: 'confined' });
    expect((await where('steady')).pid).toBeGreaterThan(0);
  },
);
