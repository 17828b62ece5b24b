// The program `signalbox`, as it is built, beside a gateway that runs and without one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { startSignalbox, type Signalbox } from '../support/services/start-signalbox.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const program = fileURLToPath(new URL('../../scripts/signalbox.mjs', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'signalbox-program-'));
let box: Signalbox;

beforeAll(async () => {
  box = await startSignalbox({ scripted: false, environment: { POLICY_DEFAULT: 'by_origin' } });
}, 60_000);
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true });
});

const signalbox = (words: string[], environment: Record<string, string> = {}) =>
  runProgram(process.execPath, [program, ...words], {
    env: { PATH: process.env['PATH'], DATA_DIR: directory, ...environment },
    timeoutMs: 60_000,
  });

verifies('operations.program', 'help, a version, and what is no command', async () => {
  const [all, one, version, wrong, extra] = await Promise.all([
    signalbox(['--help']),
    signalbox(['keys', '--help']),
    signalbox(['--version']),
    signalbox(['kyes']),
    signalbox(['start', 'now']),
  ]);
  expect(all).toMatchObject({ code: 0, stdout: expect.stringContaining('signalbox start') as string });
  expect(one).toMatchObject({ code: 0, stdout: expect.stringContaining('Example: signalbox keys create') as string });
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean 'keys'?") as string });
  expect(extra).toMatchObject({ code: 2, stderr: expect.stringContaining('takes no arguments') as string });
});

verifies('operations.program', 'tools are listed and called, and a refusal is a sentence', async () => {
  const url = ['--url', box.url];
  const [listed, servers, cost, called, unknown, wrong] = await Promise.all([
    signalbox(['tools', ...url]),
    signalbox(['tools', 'servers', ...url]),
    signalbox(['tools', 'cost', ...url]),
    signalbox(['tools', 'call', 'write_file', '{"path": "a.txt", "content": "hi"}', ...url]),
    signalbox(['tools', 'call', 'no_such_tool', ...url]),
    signalbox(['tools', 'call', 'write_file', 'path', ...url]),
  ]);
  expect(listed.stdout).toContain('workspace/write_file');
  expect(servers.stdout).toMatch(/^workspace {2}ready/m);
  const costs = cost.stdout
    .trim()
    .split('\n')
    .map((line) => /^ *(\d+) tokens {2}(.+)$/.exec(line)!.slice(1));
  const [[all], [workspace, server], ...tools] = costs as [string[], string[], ...string[][]];
  expect(server).toMatch(/^workspace, \d+ tools$/);
  const each = tools.map(([tokens]) => Number(tokens));
  expect(each).toEqual(each.toSorted((one, other) => other - one));
  expect([Number(all), Number(workspace)]).toEqual(Array(2).fill(each.reduce((sum, tokens) => sum + tokens, 0)));
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining('Wrote 2 bytes') as string });
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no_such_tool') as string });
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ARGUMENTS must be a JSON object') as string,
  });
});

verifies('operations.program', 'a list without keys says so, and stays empty for programs', async () => {
  const database = { DATABASE_URL: box.databaseUrl };
  const [shown, json] = await Promise.all([
    signalbox(['keys', 'list'], database),
    signalbox(['keys', 'list', '--json'], database),
  ]);
  expect(shown).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('There are no keys') as string,
  });
  expect(JSON.parse(json.stdout)).toEqual([]);
});

verifies(
  'operations.program',
  'a call that waits for an approval is not done, and says who waits for what',
  async () => {
    const args = ['tools', 'call', 'fetch', '{"url": "https://a.example/", "method": "POST"}', '--url', box.url];
    const [shown, json] = await Promise.all([signalbox(args), signalbox([...args, '--json'])]);
    expect(shown).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^The call has not run: it waits for a decision on appr_\w+ .* The default policy asks: /,
      ) as string,
    });
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ approval: { state: 'waiting', tool: 'fetch' } });
  },
);

verifies('operations.program', 'a limit of a key that is no number', async () => {
  const { code, stderr } = await signalbox(['keys', 'create', '--owner', 'a', '--scopes', 'chat', '--day-usd', 'five']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--day-usd must be a number, got five')]);
});

verifies('operations.program', 'a gateway that is not there is named with its address', async () => {
  const { code, stderr } = await signalbox(['tools', '--url', 'http://127.0.0.1:1']);
  expect([code, stderr]).toEqual([
    3,
    expect.stringMatching(/^The gateway cannot be reached at http:\/\/127\.0\.0\.1:1: \w/),
  ]);
});

verifies('operations.doctor', 'a line each, with what is there and whether it can start', async () => {
  const { port } = new URL(box.url);
  const well = await signalbox(['doctor'], { PORT: port, DATABASE_URL: box.databaseUrl });
  expect(well.code, well.stdout + well.stderr).toBe(0);
  expect(well.stdout).toContain(`a gateway runs at ${box.url} and is ok`);
  expect(well.stdout).toContain('(DATABASE_URL) answers');
  expect(well.stdout).toMatch(/^ok +the configuration is fine /m);
  expect(well.stdout).toMatch(/command servers (?:can be isolated|would be refused)/);
});

verifies('operations.doctor', 'the verdict of config check', async () => {
  const variables = { DEFAULT_MODEL: 'gpt-5.2', DATABASE_URL: box.databaseUrl };
  const [doctor, check] = [await signalbox(['doctor'], variables), await signalbox(['config', 'check'], variables)];
  expect(check).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The configuration has a problem.') as string,
  });
  expect(doctor.stdout).toMatch(/^note +the configuration has a problem /m);
  expect(doctor.stdout).toMatch(/^note +models\.default: 'gpt-5\.2' does not name a provider/m);
});

verifies(
  'toolsets.configured',
  'config check and doctor name entries that match no tool, with a database and without',
  async () => {
    const entries = ['workspace/read_*', 'workspace/raed_file', '!gone/*', '*/copy_*'];
    const TOOLSETS = JSON.stringify({ reads: entries, whole: ['workspace/*'] });
    const variables = { TOOLSETS, DATABASE_URL: box.databaseUrl };
    const [doctor, check, alone] = [
      await signalbox(['doctor'], variables),
      await signalbox(['config', 'check'], variables),
      await signalbox(['config', 'check'], { TOOLSETS }),
    ];
    const unmatched = 'no tool that is known matches workspace/raed_file, !gone/*, */copy_*';
    expect(check.stdout).toMatch(/^ok +toolsets\.whole +tools: \d+$/m);
    expect(check.stdout).toContain('note   toolsets.reads');
    expect(check.stdout).toContain(unmatched);
    expect(doctor.stdout).toMatch(
      /^note +toolsets\.reads: tools: \d+; no tool that is known matches workspace\/raed_file/m,
    );
    expect(alone.stdout).toMatch(/toolsets\.reads +entries: 4; no tool that is known matches !gone\/\*$/m);
    expect([check.code, alone.code]).toEqual([0, 0]);
  },
);

verifies('operations.doctor', 'what stops a start, with what to do, and status 1', async () => {
  const { port } = new URL(box.workers[0]!.url);
  const [away, taken, takenByWorker, full, wrong] = await Promise.all([
    signalbox(['doctor'], { PORT: '8017', DATABASE_URL: 'postgres://a:canary@127.0.0.1:1/x' }),
    signalbox(['doctor'], { PORT: port }),
    signalbox(['doctor'], { PORT: '8017', SERVER_WORKER_PORT: port }),
    signalbox(['doctor'], { PORT: '8017', WORKSPACES_MIN_FREE_BYTES: String(2 ** 50) }),
    signalbox(['doctor'], { PORT: 'x' }),
  ]);
  expect(away).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('the PostgreSQL at 127.0.0.1:1 (DATABASE_URL) does not answer') as string,
  });
  expect(away.stdout).not.toContain('canary');
  expect(taken).toMatchObject({ code: 1, stdout: expect.stringMatching(/STOP .*set PORT to a free port/) as string });
  expect(takenByWorker).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/STOP .*set SERVER_WORKER_PORT to a free port/) as string,
  });
  expect(full.stdout).toMatch(/^note +the disk of .* has \d+ bytes free, less than workspaces\.min_free_bytes/m);
  expect(wrong).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/STOP .*configuration is not valid/) as string,
  });
});
