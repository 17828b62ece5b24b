// An unusable workspaces directory: a file is in its place, which stops even root.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { type StartedProcess, temporaryDirectory, type TemporaryDirectory } from '../support/services/start-process.js';
import { plainChat } from '../support/outage-probe.js';
import { verifies } from '../verifies.js';

let box: Signalbox;
let directory: TemporaryDirectory;
let parent: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  parent = join(directory.path, 'storage');
  await writeFile(parent, 'no directory');
  const environment = { WORKSPACES_DIR: join(parent, 'workspaces') };
  box = await startSignalbox({ script: () => ({ text: 'plain' }), environment });
});
afterAll(async () => {
  await box?.close();
  await directory?.remove();
});

const everyone = () => [box.gateways[0]!, box.workers[0]!];

async function readiness({ url }: StartedProcess) {
  const answer = await fetch(`${url}/health/ready`);
  const { status, checks } = (await answer.json()) as { status: string; checks: { name: string; reason?: string }[] };
  return { http: answer.status, status, workspaces: checks.find(({ name }) => name === 'workspaces') };
}

async function write(path: string) {
  const session_id = 'here';
  const called = postJson(`${box.url}/api/tools/call`, {
    name: 'write_file',
    arguments: { path, content: 'x' },
    session_id,
  });
  const uploaded = fetch(`${box.url}/api/sessions/${session_id}/files/${path}`, { method: 'PUT', body: 'x' });
  return Promise.all(
    [called, uploaded].map(async (asked) => {
      const answer = await asked;
      const text = await answer.text();
      expect(text).not.toContain(directory.path);
      const { error } = JSON.parse(text) as { error?: { code: string } };
      return [answer.status < 300, answer.status, error?.code];
    }),
  );
}

async function expectAway(): Promise<void> {
  for (const each of everyone()) {
    await expect.poll(() => readiness(each)).toMatchObject({ http: 200, workspaces: { status: 'degraded' } });
    const { workspaces, status } = await readiness(each);
    expect([status, workspaces!.reason]).toEqual(['degraded', expect.stringContaining('WORKSPACES_DIR')]);
    expect(workspaces!.reason).not.toContain(directory.path);
  }
  expect(await write('a.txt')).toEqual([1, 2].map(() => [false, 503, 'workspace_unavailable']));
  expect((await postJson(`${box.url}/v1/chat/completions`, plainChat)).status).toBe(200);
}

async function expectBack(): Promise<void> {
  for (const each of everyone()) {
    await expect.poll(() => readiness(each)).toMatchObject({ workspaces: { name: 'workspaces', status: 'ok' } });
  }
  expect((await write('a.txt')).map(([succeeded]) => succeeded)).toEqual([true, true]);
}

const logLine = (text: string) => (line: Record<string, unknown>) => String(line['message']).includes(text);

verifies('reliability.workspaces-away', 'from the start: in the log, in readiness, and back by itself', async () => {
  for (const each of everyone()) {
    const line = await each.logged(logLine('the directory of the workspaces cannot be written. WORKSPACES_DIR'));
    expect(line).toMatchObject({ level: 'error', metadata: { directory: join(parent, 'workspaces') } });
  }
  await expectAway();
  await rm(parent);
  await mkdir(parent);
  await expectBack();
  for (const each of everyone()) await each.logged(logLine('can be written again'));
});

verifies('reliability.workspaces-away', 'while everything runs', async () => {
  await rename(parent, `${parent}.away`);
  await writeFile(parent, 'no directory');
  await expectAway();
  await rm(parent);
  await rename(`${parent}.away`, parent);
  await expectBack();
});

verifies('reliability.workspaces-away', 'removed: it is made anew', async () => {
  await rm(parent, { recursive: true });
  await expectBack();
});
