// The policy by the API: what is in force with its hits, a call explained, a draft simulated, rights that nobody used. The figures are those
// of SQL over the audit, and those of the command line.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { type SimulationEvent, Signalbox as Client, SignalboxError } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import { runScript } from '../support/run-program.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-policy-routes-'));
const file = join(directory, 'signalbox.yaml');
let box: SignalboxHere;
const keys: Record<string, { id: string; key: string }> = {};

const rules = [
  { name: 'devs', role: 'dev', tool: 'workspace/delete_*', effect: 'allow' },
  { name: 'bobs', user: 'bob', tool: 'workspace/*', effect: 'allow' },
  { name: 'no-deletions', tool: '*/delete_*', effect: 'deny', reason: 'Nothing is deleted here' },
  {
    name: 'corner',
    tool: 'workspace/write_file',
    arguments: [{ path: '$.path', prefix: 'tmp/' }],
    effect: 'allow',
  },
  { name: 'writing', tool: 'workspace/write_file', effect: 'require_approval', reason: 'Writes' },
  { name: 'price', tool: 'workspace/move_file', effect: 'deny', reason: 'Costs ${5}' },
];

const api = (who: string) => new Client({ baseUrl: box.url, apiKey: keys[who]!.key, maxRetries: 0 });
const call = (who: string, name: string, args: object) =>
  api(who)
    .tools.call({ name, arguments: args as never, session_id: 'policy' })
    .catch((error: unknown) => error);
const failure = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error: unknown) => error as SignalboxError,
  );
async function simulated(policy: string, options: { since?: string; rule?: string } = {}): Promise<SimulationEvent[]> {
  const events: SimulationEvent[] = [];
  for await (const event of api('root').operations.policy.simulate({ policy, ...options })) events.push(event);
  return events;
}
const endOf = (events: readonly SimulationEvent[]) => events.at(-1) as Extract<SimulationEvent, { type: 'done' }>;

beforeAll(async () => {
  const written = rules.map((rule) => ({
    ...rule,
    ...(rule.reason && { reason: rule.reason.replace('${', () => '$${') }),
  }));
  writeFileSync(file, JSON.stringify({ policy: { default: 'allow', rules: written } }));
  box = await startSignalboxHere({
    scripted: false,
    environment: { SIGNALBOX_CONFIG: file, POLICY_DEFAULT: '' },
  });
  const create = async (owner: string, members: object) => {
    const headers = {
      'content-type': 'application/json',
      ...(keys['root'] && { authorization: `Bearer ${keys['root'].key}` }),
    };
    const body = JSON.stringify({ owner, ...members });
    const answer = await fetch(`${box.url}/api/keys`, { method: 'POST', headers, body });
    keys[owner] = (await answer.json()) as { id: string; key: string };
  };
  await create('root', { scopes: ['admin', 'tools', 'chat', 'files'] });
  await create('alice', { scopes: ['tools', 'files'], tools: { deny: ['workspace/list_*'] } });
  await create('bob', { scopes: ['tools', 'files'], roles: ['dev'] });
  await eventually(async () => (await api('root').tools.list()).length > 5, 20_000);
  await call('alice', 'write_file', { path: 'tmp/a', content: 'x', create_dirs: true });
  await call('alice', 'write_file', { path: 'etc/a', content: 'x' });
  await call('alice', 'delete_file', { path: 'tmp/a' });
  await call('alice', 'read_file', { path: 'tmp/a' });
  await call('bob', 'read_file', { path: 'tmp/a' });
  const { data } = await api('root').approvals.list({ state: 'waiting' });
  await api('root').approvals.decide(data[0]!.id, { decision: 'approve' });
  await eventually(async () => (await api('root').operations.audit({ rule: 'writing' })).data.length === 1, 20_000);
}, 120_000);
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true });
});

verifies('policy.shown', 'rules in order as written, their source, and hits as SQL counts them', async () => {
  const shown = await api('root').operations.policy.show();
  expect(shown.source).toEqual({ kind: 'config', name: 'signalbox.yaml' });
  expect(JSON.stringify(shown)).not.toContain(directory);
  expect(shown.rules).toMatchObject(rules.map((rule) => ({ ...rule, server: null })));
  const counted = await box.rows<{ rule: string; hits: number; last: Date }>(
    `select policy_rule as rule, count(*)::int as hits, max(at) as last from audit_events
     where kind = 'tool_call' and policy_rule is not null group by policy_rule order by policy_rule`,
  );
  const hits = [
    ...shown.rules.map(({ name: rule, ...used }) => ({ rule, ...used })),
    ...shown.defaults,
    ...shown.others,
  ]
    .filter((each) => each.hits > 0)
    .map(({ rule, hits, last_hit_at: last }) => ({ rule, hits, last: new Date(last!) }))
    .sort((one, other) => (one.rule < other.rule ? -1 : 1));
  expect(hits).toEqual(counted);
  expect(counted.map(({ rule }) => rule)).toEqual(['bobs', 'corner', 'default', 'no-deletions', 'writing']);
  for (const { rule, hits: expected } of counted) {
    expect((await api('root').operations.audit({ rule })).data).toHaveLength(expected);
  }
  // The text is the policy: simulated, it changes nothing.
  const { counts } = endOf(await simulated(shown.text));
  expect(counts).toMatchObject({ changed: 0 });
  expect((await failure(api('alice').operations.policy.show()))?.status).toBe(403);
});

verifies(
  'policy.explained-by-api',
  'for the caller itself without rules of others, for administrators whole',
  async () => {
    const explain = (who: string, asked: object) => api(who).operations.policy.explain(asked as never);
    const path = (value: string) => ({ path: value, content: 'x' });
    const own = await explain('alice', { tool: 'workspace/write_file', arguments: path('etc/b') });
    expect(own).toMatchObject({
      principal: 'alice',
      key_allows: true,
      decision: { effect: 'require_approval', rule: 'writing', reason: 'Writes' },
      tried: [{ rule: 'corner', matched: false, differs: 'arguments' }, { rule: 'writing' }],
      arguments_problem: null,
    });
    expect(JSON.stringify(own)).not.toContain('bob');
    const whole = await explain('root', {
      tool: 'workspace/write_file',
      arguments: path('etc/b'),
      key_id: keys['alice']!.id,
    });
    expect(whole.tried.map(({ rule }) => rule)).toEqual(['devs', 'bobs', 'no-deletions', 'corner', 'writing']);
    expect(whole.tried[1]).toEqual({
      rule: 'bobs',
      matched: false,
      because: 'it is for the user bob',
      differs: 'caller',
    });
    const bob = { tool: 'workspace/delete_file', arguments: { path: 'a' }, key_id: keys['bob']!.id };
    expect((await explain('root', bob)).decision).toMatchObject({ effect: 'allow', rule: 'devs' });
    expect((await explain('root', { ...bob, roles: [] })).decision).toMatchObject({ rule: 'bobs' });
    expect((await explain('root', { ...bob, policy: 'rules: [{ name: none, effect: deny }]' })).decision?.rule).toBe(
      'none',
    );
    expect(await explain('alice', { tool: 'workspace/list_directory' })).toMatchObject({
      key_allows: false,
      decision: null,
    });
    expect((await explain('alice', { tool: 'workspace/write_file' })).arguments_problem).toContain('path');
    for (const [asked, status] of [
      [{ tool: 'workspace/read_file', principal: 'bob' }, 403],
      [{ tool: 'workspace/read_file', key_id: keys['bob']!.id }, 403],
      [{ tool: 'workspace/read_file', roles: ['dev'] }, 403],
      [{ tool: 'workspace/read_file', policy: 'rules: []' }, 403],
      [{ tool: 'workspace/nothing' }, 404],
      [{ tool: 'noslash' }, 400],
      [{ tool: 'workspace/read_file', more: 1 }, 400],
    ] as const) {
      expect([asked, (await failure(explain('alice', asked)))?.status]).toEqual([asked, status]);
    }
    expect((await failure(explain('root', { tool: 'workspace/read_file', key_id: 'key_none' })))?.status).toBe(404);
  },
);

verifies('policy.simulated-by-api', 'what the command line says, call by call and in sums', async () => {
  const draft = join(directory, 'draft.yaml');
  const text = `rules:
  - { name: none, tool: workspace/write_file, arguments: [{ path: $.path, prefix: tmp/ }], effect: deny }
  - { name: free, tool: 'workspace/*', effect: allow }`;
  writeFileSync(draft, text);
  const { stdout } = await runScript('policy', ['simulate', '--file', draft, '--since', '1h', '--json'], {
    env: { ...process.env, SIGNALBOX_CONFIG: file, DATABASE_URL: box.databaseUrl },
  });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const events = await simulated(text);
  const listed = events.flatMap((event) => (event.type === 'call' ? [event] : []));
  const brief = ({ call_id, kind, was, now, rule }: Record<string, unknown>) => ({ call_id, kind, was, now, rule });
  expect(listed.map((event) => brief(event as never)).reverse()).toEqual(lines.slice(0, -1).map(brief));
  expect(listed.map((event) => [event.tool, 'was' in event && event.was, 'now' in event && event.now])).toEqual([
    ['write_file', 'require_approval', 'allow'],
    ['delete_file', 'refused', 'allow'],
    ['write_file', 'allow', 'deny'],
  ]);
  const end = endOf(events);
  expect({ counts: end.counts }).toEqual(lines.at(-1));
  const [counted] = await box.rows<{ calls: number }>(
    `select count(*)::int as calls from audit_events where kind = 'tool_call'`,
  );
  expect(end.calls).toBe(counted!.calls);
  expect(end.rules.find(({ rule }) => rule === 'free')).toEqual({
    rule: 'free',
    effect: 'allow',
    calls: 4,
    changed: 2,
  });
  const covered = await simulated(text, { rule: 'free' });
  expect(covered.filter((event) => event.type === 'call' && 'rule' in event && event.rule === 'free')).toHaveLength(4);
  expect(endOf(await simulated(text, { since: new Date(Date.now() + 60_000).toISOString() })).calls).toBe(0);
});

verifies('policy.draft-problems', 'by the API, and nothing is judged', async () => {
  const wrong = (await failure(simulated('rules: [{ name: a }]')))!;
  expect(wrong).toMatchObject({ status: 400, code: 'invalid_value', param: 'policy' });
  expect(wrong.problems).toEqual([{ key: 'rules.0.effect', message: 'is missing', line: 1, column: 9 }]);
});

verifies(
  'policy.draft-hostile',
  'large, exponential and slow drafts end as errors while others are answered',
  async () => {
    const letters = 'abcdefghij'.split('');
    const laughs = letters.map((letter, at) =>
      at === 0
        ? 'a: &a [x, x, x, x, x, x, x, x, x]'
        : `${letter}: &${letter} [${Array(9)
            .fill(`*${letters[at - 1]}`)
            .join(', ')}]`,
    );
    const slow = Array.from({ length: 100_000 }, (_, at) => `k${at}: 1`).join('\n');
    const pattern = 'a{1000}'.repeat(140);
    const bombs = Array.from(
      { length: 400 },
      (_, at) => `  - { name: r${at}, effect: deny, arguments: [{ path: $.path, regex: '${pattern}' }] }`,
    );
    for (const [kind, text] of [
      ['5 MB', 'x'.repeat(5 * 1024 * 1024)],
      ['aliases', laughs.join('\n')],
      ['keys', slow.slice(0, 1_000_000)],
      ['nested', '['.repeat(500_000)],
      ['patterns', `rules:\n${bombs.join('\n')}`],
      ['repeated', `rules: [{ name: a, effect: deny, arguments: [{ path: $.a, regex: '((a{1000}){1000}){1000}' }] }]`],
    ] as const) {
      const asked = failure(simulated(text));
      const began = performance.now();
      await api('alice').tools.list();
      const waited = performance.now() - began;
      const error = await asked;
      expect([kind, error?.status, error?.code]).toEqual([kind, 400, 'invalid_value']);
      expect(error!.message.length).toBeLessThan(1_100);
      expect(waited).toBeLessThan(5_000);
    }
  },
  180_000,
);

verifies('policy.rights-unused', 'by key and tool, as the audit has it, with a rule that takes them away', async () => {
  await eventually(async () => {
    const { data } = await api('root').operations.policy.unused();
    return data.find(({ owner }) => owner === 'bob')?.used.length === 1;
  }, 20_000);
  const { data, rules: idle } = await api('root').operations.policy.unused({ days: 7 });
  const used = await box.rows<{ key: string; tool: string }>(
    `select distinct key_id as key, server || '/' || tool as tool from audit_events
     where kind = 'tool_call' and error_code is distinct from 'tool_denied' order by 1, 2`,
  );
  for (const owner of ['alice', 'bob']) {
    const row = data.find((each) => each.owner === owner)!;
    const called = used.filter(({ key }) => key === keys[owner]!.id).map(({ tool }) => tool);
    expect([...row.used].sort()).toEqual(called);
    expect(row.used.length + row.unused_count).toBe(row.allowed);
    const rule = `rules:\n${row.rule!.replaceAll(/^/gm, '  ')}`;
    const judged = (tool: string) =>
      api('root').operations.policy.explain({ tool, key_id: keys[owner]!.id, policy: rule });
    expect((await judged(row.unused[0]!)).decision?.effect).toBe('deny');
    expect((await judged(row.used[0]!)).decision?.rule).not.toContain('unused');
    expect(row.tools).toEqual({ allow: row.used });
  }
  const alice = data.find(({ owner }) => owner === 'alice')!;
  expect(alice.unused).not.toContain('workspace/list_directory');
  expect(data.find(({ owner }) => owner === 'bob')!.unused).toContain('workspace/list_directory');
  expect(alice.unused).not.toContain('workspace/delete_file');
  expect(idle).toEqual(['devs']);
  expect((await failure(api('alice').operations.policy.unused()))?.status).toBe(403);
  expect((await failure(api('root').operations.policy.unused({ days: 0 })))?.status).toBe(400);
});

verifies('policy.rule-drafted', 'the narrowest rule, before the one that asked; nothing changes', async () => {
  const waiting = await call('alice', 'write_file', { path: 'notes/a.txt', content: 'secret' });
  expect(waiting).toHaveProperty('approval');
  const { data } = await api('root').approvals.list({ state: 'waiting' });
  const { policy } = api('root').operations;
  const drafted = await policy.draft(data[0]!.id);
  expect(drafted.rule).toEqual({
    name: 'allow-write_file',
    user: 'alice',
    tool: 'workspace/write_file',
    arguments: expect.arrayContaining([
      { path: '$.path', equals: 'notes/a.txt' },
      { path: '$.content', equals: 'secret' },
    ]) as unknown,
    effect: 'allow',
  });
  expect([drafted.before, drafted.left_out]).toEqual(['writing', []]);
  const judged = await policy.explain({
    tool: 'workspace/write_file',
    arguments: data[0]!.arguments,
    key_id: keys['alice']!.id,
    policy: drafted.policy,
  });
  expect(judged.decision).toMatchObject({ effect: 'allow', rule: 'allow-write_file' });
  expect((await policy.show()).rules.map(({ name }) => name)).toEqual(rules.map(({ name }) => name));
  expect((await failure(api('alice').operations.policy.draft(data[0]!.id)))?.status).toBe(403);
  expect((await failure(policy.draft('appr_none')))?.status).toBe(404);
});
