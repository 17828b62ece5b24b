// Policy rules on running processes: what callers see, what is refused, and what the audit and the command line show.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { startSignalbox, type Signalbox } from '../support/services/start-signalbox.js';
import { runScript } from '../support/run-program.js';
import { callTool, metricOf, offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-policy-'));
const policyFile = join(directory, 'policy.yaml');
const patient = { timeout: 25_000, interval: 50 };
let box: Signalbox;

const rules = [
  { name: 'no-deletions', tool: '*/delete_*', effect: 'deny', reason: 'Nothing is deleted here' },
  {
    name: 'own-corner',
    tool: 'workspace/write_file',
    arguments: [{ path: '$.path', prefix: 'tmp/' }],
    effect: 'allow',
  },
  { name: 'elsewhere', tool: 'workspace/write_file', effect: 'deny', reason: 'Write below tmp/' },
  { name: 'moves', tool: 'workspace/move_file', effect: 'require_approval', reason: 'Moves a file' },
];

/** Replaces the file atomically, like an editor. */
function write(text: string): void {
  writeFileSync(`${policyFile}~`, text);
  renameSync(`${policyFile}~`, policyFile);
}

const call = (name: string, args: object) => callTool(box.url, { name, arguments: args, session_id: 'sess_policy' });
const writeTo = (path: string) => call('write_file', { path, content: 'x', create_dirs: true });
const decisions = (effect: string) => metricOf(box.url, `signalbox_policy_decisions_total{effect="${effect}"}`);
const ruleOf = async (where: string) =>
  (
    await box.rows<{ policy_rule: string; success: boolean; arguments: string }>(
      `select policy_rule, success, arguments from audit_events where ${where} order by at desc limit 1`,
    )
  )[0];
const rpc = async (method: string, params: object) => {
  const answer = await fetch(`${box.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await answer.json()) as { result: Record<string, unknown>; error?: { data: { code: string } } };
};
const policy = (...args: string[]) =>
  runScript('policy', args, {
    env: { ...process.env, SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml'), DATABASE_URL: box.databaseUrl },
  });

beforeAll(async () => {
  write(JSON.stringify({ default: 'allow', rules }));
  writeFileSync(join(directory, 'signalbox.yaml'), 'policy: { file: policy.yaml }\n');
  box = await startSignalbox({
    environment: { SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml'), POLICY_DEFAULT: '' },
    script: [{ toolCalls: [{ name: 'delete_file', arguments: { path: 'a' } }] }, { text: 'It was refused.' }],
  });
});
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true });
});

verifies('policy.denied-invisible', 'not listed by /api/tools and /mcp, refused when called', async () => {
  const offered = await offeredTools(box.url);
  expect([offered.has('delete_file'), offered.has('write_file'), offered.has('move_file')]).toEqual([
    false,
    true,
    true,
  ]);
  expect((await fetch(`${box.url}/api/tools/delete_file`)).status).toBe(404);
  const { tools } = (await rpc('tools/list', {})).result as { tools: { name: string }[] };
  expect(tools.map(({ name }) => name)).not.toContain('delete_file');
  expect((await rpc('tools/describe', { name: 'delete_file' })).error?.data.code).toBe('tool_not_found');

  const before = await decisions('deny');
  const refused = await call('delete_file', { path: 'a' });
  expect(refused).toMatchObject({ status: 422, body: { error: { code: 'tool_denied' } } });
  expect(refused.body.error!.message).toBe(
    "The rule 'no-deletions' does not allow this call of 'delete_file': Nothing is deleted here",
  );
  const inMcp = (await rpc('tools/call', { name: 'delete_file', arguments: { path: 'a' } })).result;
  expect(JSON.stringify(inMcp)).toContain('Nothing is deleted here');
  // Errors about its arguments would reveal its schema.
  const unread = await call('delete_file', { nothing: 'of it' });
  expect(unread).toMatchObject({ status: 422, body: { error: { code: 'tool_denied' } } });
  expect(await decisions('deny')).toBe(before + 3);
  expect(await ruleOf("tool = 'delete_file'")).toMatchObject({ policy_rule: 'no-deletions', success: false });
});

verifies('policy.denied-invisible', 'not offered to the model, and refused to it', async () => {
  const answer = await fetch(`${box.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'Delete a' }],
      tools: [{ type: 'mcp', server_label: '*' }],
    }),
  });
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'It was refused.' } }] });
  const [first, second] = box.upstream.requests.map(({ body }) => JSON.stringify(body));
  expect(first).toContain('write_file');
  expect(first).not.toContain('delete_file');
  expect(second).toContain('Nothing is deleted here');
  expect(await ruleOf("tool = 'delete_file' and run_id is not null")).toMatchObject({ policy_rule: 'no-deletions' });
});

verifies('policy.audited', 'allowed by a rule, denied by another, and by default', async () => {
  expect((await writeTo('tmp/a')).status).toBe(200);
  expect(await ruleOf("tool = 'write_file'")).toMatchObject({ policy_rule: 'own-corner', success: true });
  for (const path of ['etc/a', 'tmp/../etc/a', '/mcp_workspaces/sess_policy/a']) {
    expect(await writeTo(path)).toMatchObject({ status: 422, body: { error: { code: 'tool_denied' } } });
  }
  const denied = await ruleOf("tool = 'write_file'");
  expect(denied).toMatchObject({ policy_rule: 'elsewhere', success: false });
  expect(JSON.parse(denied!.arguments)).toMatchObject({ path: '/mcp_workspaces/sess_policy/a' });
  await call('read_file', { path: 'tmp/a' });
  expect(await ruleOf("tool = 'read_file'")).toMatchObject({ policy_rule: 'default', success: true });
});

verifies('policy.explained', 'the rule, and why not those before it', async () => {
  const text = await policy('explain', '--tool', 'workspace/write_file', '--args', '{"path":"etc/a"}');
  expect([text.code, text.stdout.trim()]).toEqual([
    0,
    [
      "deny: the rule 'elsewhere' (Write below tmp/)",
      '  no-deletions: no, it is for the tool */delete_*',
      "  own-corner: no, the argument $.path is not plainly under 'tmp/'",
    ].join('\n'),
  ]);
  const json = await policy('explain', '--tool', 'workspace/delete_file', '--user', 'alice', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ decision: { effect: 'deny', rule: 'no-deletions' } });
  expect((await policy('explain', '--tool', 'nothing')).code).toBe(2);
});

verifies('policy.simulated', 'what would change, and what cannot be judged', async () => {
  await call('write_file', { path: 'tmp/long', content: 'x'.repeat(20_000), create_dirs: true });
  const draft = join(directory, 'draft.yaml');
  const inTmp = { path: '$.path', in: ['tmp/a'] };
  const denied = { name: 'no-a', tool: 'workspace/write_file', arguments: [inTmp], effect: 'deny' };
  writeFileSync(draft, JSON.stringify({ rules: [denied] }));
  const { code, stdout } = await policy('simulate', '--file', draft, '--since', '1h', '--json');
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(code).toBe(0);
  const kinds = (tool: string) =>
    lines.filter((line) => line['tool'] === tool).map(({ kind, was, now }) => [kind, was, now]);
  expect(kinds('write_file')).toEqual([
    ['changed', 'allow', 'deny'],
    ['changed', 'refused', 'allow'],
    ['changed', 'refused', 'allow'],
    ['changed', 'refused', 'allow'],
    ['unknown', undefined, undefined],
  ]);
  expect(kinds('delete_file')).toHaveLength(4);
  expect(lines.at(-1)).toMatchObject({ counts: { unknown: 1 } });
});

verifies(
  'policy.reload',
  'the file of the rules is watched, and SIGHUP reads it; a broken one changes nothing',
  async () => {
    write(JSON.stringify({ default: 'allow', rules: rules.slice(1) }));
    await expect.poll(async () => (await offeredTools(box.url)).has('delete_file'), patient).toBe(true);
    expect((await call('delete_file', { path: 'tmp/a' })).status).toBe(200);

    write('rules: [{ name: broken, tool: noslash, effect: deny }]');
    const logged = await box.gateways[0]!.logged(({ message }) => String(message).includes('could not be read again'));
    expect(JSON.stringify(logged)).toContain('policy.rules.0.tool');
    expect((await writeTo('etc/b')).body.error?.code).toBe('tool_denied');
    expect((await writeTo('tmp/b')).status).toBe(200);

    write(JSON.stringify({ default: 'allow', rules: [] }));
    box.gateways[0]!.kill('SIGHUP');
    await expect.poll(async () => (await writeTo('etc/c')).status, patient).toBe(200);
  },
);

verifies('audit.policy-changes', 'as it started, and each that replaced it', async () => {
  const changes = () =>
    box.rows<{ state: string; rules: string }>(
      `select state, arguments::json->>'rules' as rules from audit_events where kind = 'policy_change' order by at, id`,
    );
  await expect
    .poll(async () => (await changes()).map(({ state }) => state), patient)
    .toEqual(['started', 'replaced', 'replaced']);
  const [started, , last] = await changes();
  expect(started?.rules).toContain('no-deletions: deny');
  expect(last?.rules).toBe('[]');
});
