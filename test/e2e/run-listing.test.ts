// Runs in lists and in detail, the overview, the workers and the caller, as two principals and an administrator see them.
import { afterAll, beforeAll, expect } from 'vitest';
import type {
  ListedRun,
  Me,
  Overview,
  RunDetails,
  Session,
  ShownWorker,
  Tool,
  ToolServer,
} from '../../clients/typescript/src/index.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { messagesOf, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
const keys: Record<string, { id: string; key: string }> = {};
const runIds: Record<string, string> = {};

async function ask(path: string, who?: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  const headers = {
    'x-forwarded-for': '203.0.113.9',
    ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(who === undefined ? {} : { authorization: `Bearer ${keys[who]!.key}` }),
  };
  const answer = await fetch(box.url + path, { ...init, headers });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}
const get = async <Body>(path: string, who?: string) => (await ask(path, who)).body as Body;
const list = (query: string, who: string) =>
  get<{ data: ListedRun[]; next_cursor: string | null }>(`/api/runs${query}`, who);

async function chat(who: string, members: object): Promise<string> {
  const headers = { authorization: `Bearer ${keys[who]!.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ tools: [workspaceTools], store: true, ...members });
  const answer = await fetch(`${box.url}/api/chat/completions`, { method: 'POST', headers, body });
  await answer.text();
  return answer.headers.get('x-run-id')!;
}

const user = (content: string) => [{ role: 'user', content }];

beforeAll(async () => {
  const reading = { text: 'I look', toolCalls: [{ name: 'read_file', arguments: { path: 'none' } }] };
  const telling = { toolCalls: [{ name: 'get_time', arguments: {} }] };
  box = await startSignalboxHere({
    script: (request) => {
      const messages = messagesOf(request);
      const asked = JSON.stringify(messages.findLast((message) => message['role'] === 'user'));
      if (asked.includes('break')) return { status: 400, json: { error: { message: 'broken' } } };
      if (messages.at(-1)!['role'] === 'tool') return { text: 'the end' };
      return asked.includes('file') ? reading : telling;
    },
    environment: { MODELS_PRICES: JSON.stringify({ 'scripted/*': { input: 1, output: 2 } }) },
  });
  const create = async (owner: string, scopes: string[]) => {
    const body = JSON.stringify({ owner, scopes, name: `key of ${owner}` });
    const headers = {
      'content-type': 'application/json',
      ...(keys['root'] && { authorization: `Bearer ${keys['root'].key}` }),
    };
    keys[owner] = (await (await fetch(`${box.url}/api/keys`, { method: 'POST', headers, body })).json()) as {
      id: string;
      key: string;
    };
  };
  await create('root', ['admin']);
  for (const owner of ['alice', 'bob']) await create(owner, ['chat', 'tools', 'files']);
  runIds['time'] = await chat('alice', { messages: user('What time is it?'), session_id: 'mine' });
  runIds['file'] = await chat('alice', { messages: user('Read the file'), session_id: 'files' });
  runIds['broken'] = await chat('alice', { messages: user('break'), session_id: 'mine' });
  runIds['bob'] = await chat('bob', {
    messages: user('What time is it?'),
    session_id: 'mine',
    model: 'scripted/other',
  });
});
afterAll(() => box?.close());

verifies('runs.of-others', 'in lists, one by one, and cancelled', async () => {
  const idsOf = async (query: string, who: string) => (await list(query, who)).data.map(({ id }) => id);
  expect(await idsOf('', 'alice')).toEqual([runIds['broken'], runIds['file'], runIds['time']]);
  expect(await idsOf('', 'bob')).toEqual([runIds['bob']]);
  expect(await idsOf('?principal=alice', 'bob')).toEqual([]);
  expect(await idsOf('', 'root')).toEqual([runIds['bob'], runIds['broken'], runIds['file'], runIds['time']]);
  expect(await idsOf('?principal=bob', 'root')).toEqual([runIds['bob']]);
  const path = `/api/runs/${runIds['time']}`;
  for (const [method, address] of [
    ['GET', path],
    ['GET', `${path}?include=rounds,calls,events`],
    ['GET', `${path}/events`],
    ['DELETE', path],
  ] as const) {
    expect(await ask(address, 'bob', { method })).toMatchObject({
      status: 404,
      body: { error: { code: 'run_not_found' } },
    });
    if (!address.endsWith('/events')) expect((await ask(address, 'root', { method })).status).toBe(200);
  }
});

verifies('runs.listed', 'by the API: each filter, and pages', async () => {
  const idsOf = async (query: string) => (await list(query, 'root')).data.map(({ id }) => id);
  const { time, file, broken, bob } = runIds;
  for (const [query, expected] of [
    ['state=failed', [broken]],
    ['state=done', [bob, file, time]],
    ['state=waiting', []],
    ['model=scripted/other', [bob]],
    ['session=mine&principal=alice', [broken, time]],
    ['tool=workspace/read_file', [file]],
    ['tool=get_time', [bob, time]],
    ['text=THE%20FILE', [file]],
    [`text=${time}`, [time]],
    ['since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z', []],
  ] as const) {
    expect([query, await idsOf(`?${query}`)]).toEqual([query, expected]);
  }
  const { error } = (await list('?state=failed', 'root')).data[0]!;
  expect(await idsOf(`?error=${error!.code}`)).toEqual([broken]);
  const first = await list('?limit=3', 'root');
  const second = await list(`?limit=3&cursor=${first.next_cursor}`, 'root');
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual([bob, broken, file, time]);
  expect(second.next_cursor).toBeNull();
  for (const query of ['limit=0', 'limit=101', 'state=none', 'since=today', 'cursor=none', `text=${'x'.repeat(201)}`]) {
    expect(await ask(`/api/runs?${query}`, 'root')).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value' } },
    });
  }
});

verifies('runs.details', 'rounds, calls, events, before and after the log of events is gone', async () => {
  const path = `/api/runs/${runIds['file']}?include=rounds,calls,events`;
  const run = await get<RunDetails>(path, 'alice');
  expect(run).toMatchObject({
    id: runIds['file'],
    state: 'done',
    model: 'scripted/model',
    principal: 'alice',
    session_id: 'files',
    rounds: 2,
    calls: 1,
    tools: ['workspace/read_file'],
    stopped_by: null,
  });
  const spent = Object.values(run.spent_ms).reduce((sum, part) => sum + part, 0);
  expect(spent).toBeLessThanOrEqual(run.duration_ms + 1);
  expect(run.cost_usd).toBeCloseTo((run.usage.prompt_tokens + 2 * run.usage.completion_tokens) / 1e6, 9);
  expect(run.round_list).toMatchObject([
    { round: 1, provider: 'scripted', sent: 1, message: { content: 'I look' }, finish_reason: 'tool_calls' },
    { round: 2, sent: 3, message: { content: 'the end' }, finish_reason: 'stop' },
  ]);
  expect(run.messages!.map((message) => message['role'])).toEqual(['user', 'assistant', 'tool', 'assistant']);
  const [call] = run.call_list!;
  expect(call).toMatchObject({
    round: 1,
    kind: 'server',
    server: 'workspace',
    tool: 'read_file',
    state: 'failed',
    arguments: { path: 'none' },
    result: { success: false },
    policy: { verdict: 'allow' },
    approval: null,
    attempts: 1,
    isolation: 'builtin',
    cached: false,
  });
  expect(call!.worker).not.toBeNull();
  expect(Date.parse(call!.started_at!)).toBeGreaterThanOrEqual(Date.parse(call!.planned_at) - 1);
  const rows = await box.rows<{ id: string }>('select id from audit_events where call_id = $1', [call!.id]);
  expect(rows).toEqual([{ id: call!.audit_id }]);
  const told = run.event_list!.map(({ type }) => type);
  expect(told.filter((type) => type !== 'tool_progress')).toEqual([
    'start',
    'content',
    'tool_call',
    'tool_result',
    'content',
    'done',
  ]);
  await box.rows('delete from run_events where run_id = $1', [run.id]);
  const later = await get<RunDetails>(path, 'alice');
  expect(later.event_list!.map(({ type }) => type)).toEqual(told.filter((type) => type !== 'tool_progress'));
  const textOf = ({ event_list: events }: RunDetails) =>
    events!.map((event) => (event as { text?: string }).text ?? '').join('');
  expect(textOf(later)).toBe(textOf(run));

  const broken = await get<RunDetails>(`/api/runs/${runIds['broken']}?include=events`, 'alice');
  await box.rows('delete from run_events where run_id = $1', [broken.id]);
  const after = await get<RunDetails>(`/api/runs/${broken.id}?include=events`, 'alice');
  expect(after.event_list!.at(-1)).toMatchObject({ type: 'error', error: { code: broken.error!.code } });
  expect(await ask(`/api/runs/${broken.id}?include=all`, 'alice')).toMatchObject({ status: 400 });
});

verifies('overview.figures', 'of everybody and of one', async () => {
  const [all, alice] = [await get<Overview>('/api/overview', 'root'), await get<Overview>('/api/overview', 'alice')];
  const [counted] = await box.rows<{ turns: number; calls: number; failures: number; alice: number }>(
    `select (select count(*) from runs)::int as turns, (select count(*) from tool_calls)::int as calls,
       (select count(*) from tool_calls where state <> 'completed')::int as failures,
       (select count(*) from runs where principal = 'alice')::int as alice`,
  );
  const sum = (overview: Overview, member: 'requests' | 'tool_calls' | 'tool_failures' | 'cost_usd') =>
    overview.hours.reduce((total, hour) => total + hour[member], 0);
  expect(all).toMatchObject({
    everybody: true,
    running_turns: 0,
    waiting: { approvals: 0, sign_ins: 0, questions: 0, tool_changes: 0 },
  });
  expect(all.workers).toEqual({ ready: 1, draining: 0, gone: 0 });
  expect(all.queue).toMatchObject({ waiting: 0 });
  expect(sum(all, 'requests')).toBe(counted!.turns);
  expect(sum(all, 'tool_calls')).toBe(counted!.calls);
  expect(sum(all, 'tool_failures')).toBe(counted!.failures);
  const costs = (await list('', 'root')).data.map(({ cost_usd }) => cost_usd ?? 0);
  expect(sum(all, 'cost_usd')).toBeCloseTo(
    costs.reduce((total, cost) => total + cost, 0),
    9,
  );
  expect(alice).toMatchObject({
    everybody: false,
    queue: null,
    workers: null,
    problems: [],
    waiting: { tool_changes: null },
  });
  expect(sum(alice, 'requests')).toBe(counted!.alice);
});

verifies('overview.workers', 'one that runs, and one that is gone', async () => {
  await box.rows(`insert into processes (id, kind, details, heartbeat_at, gone_at)
    values ('worker-gone', 'worker', '{}', now() - interval '1 minute', now())`);
  const { workers } = await get<{ workers: ShownWorker[] }>('/api/workers', 'root');
  expect(workers.map(({ id, state }) => (id === 'worker-gone' ? `that ${state}` : state)).sort()).toEqual([
    'ready',
    'that gone',
  ]);
  expect(workers.find(({ state }) => state === 'ready')!.servers.map(({ name }) => name)).toContain('workspace');
  expect((await ask('/api/workers', 'alice')).status).toBe(403);
  const { problems } = await get<Overview>('/api/overview', 'root');
  expect(problems).toContainEqual(expect.objectContaining({ code: 'worker_gone', worker: 'worker-gone' }));
});

verifies('overview.me', 'nobody, a key, an administrator, a wrong key', async () => {
  const signIn = { open: false, keys: true };
  expect(await get<Me>('/api/me')).toEqual({
    signed_in: null,
    principal: null,
    key: null,
    scopes: [],
    sign_in: signIn,
  });
  expect(await get<Me>('/api/me', 'alice')).toEqual({
    signed_in: 'key',
    principal: 'alice',
    key: { id: keys['alice']!.id, name: 'key of alice' },
    scopes: ['chat', 'tools', 'files'],
    sign_in: signIn,
  });
  expect(await get<Me>('/api/me', 'root')).toMatchObject({ principal: 'root', scopes: ['admin'] });
  keys['wrong'] = { id: '', key: `sb_${'x'.repeat(43)}` };
  expect((await ask('/api/me', 'wrong')).status).toBe(401);
});

verifies('sessions.of-others', 'all of them, one owner’s, and one’s own', async () => {
  type Sessions = { sessions: Session[]; has_more: boolean; next_cursor: string | null };
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const next: Sessions = await get<Sessions>(
      `/api/sessions?principal=*&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`,
      'root',
    );
    seen.push(...next.sessions.map(({ principal, id }) => `${principal}/${id}`));
    cursor = next.next_cursor;
  }
  expect(seen).toEqual(['alice/files', 'alice/mine', 'bob/mine']);
  const named = async (query: string, who: string) =>
    (await get<Sessions>(`/api/sessions${query}`, who)).sessions.map(({ principal, id }) => `${principal}/${id}`);
  expect(await named('?principal=bob', 'root')).toEqual(['bob/mine']);
  expect(await named('?principal=bob', 'alice')).toEqual([]);
  expect(await named('?principal=*', 'alice')).toEqual([]);
  expect(await named('', 'alice')).toEqual(['alice/files', 'alice/mine']);
  expect(await ask('/api/sessions?cursor=none', 'alice')).toMatchObject({ status: 400 });
});

verifies('tools.shown', 'tokens, verdict, calls and failures', async () => {
  const shown = async (who: string) => {
    const { data } = await get<{ data: Tool[] }>('/api/tools?include=verdict,usage', who);
    return data.find((tool) => tool.function.name === 'read_file')!;
  };
  const tool = await shown('alice');
  expect(tool.tokens).toBeGreaterThan(20);
  expect(tool.verdict).toEqual({
    effect: 'allow',
    rule: expect.stringContaining('default') as unknown,
    depends: false,
  });
  expect(tool.last_30_days).toEqual({ calls: 1, failures: 1 });
  expect((await shown('bob')).last_30_days).toEqual({ calls: 0, failures: 0 });
  expect(await ask('/api/tools?include=all', 'alice')).toMatchObject({ status: 400 });
});

verifies('tools.servers-shown', 'with an admin key from elsewhere', async () => {
  const { servers } = await get<{ servers: ToolServer[] }>('/api/servers', 'root');
  expect(servers.find(({ name }) => name === 'workspace')).toMatchObject({ state: 'ready', isolation: 'builtin' });
  for (const path of ['/api/tools/changes', '/metrics']) {
    const headers = { 'x-forwarded-for': '203.0.113.9', authorization: `Bearer ${keys['root']!.key}` };
    expect([path, (await fetch(box.url + path, { headers })).status]).toEqual([path, 200]);
  }
});
