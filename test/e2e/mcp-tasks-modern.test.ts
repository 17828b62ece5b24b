// Calls of /mcp as tasks since 2026-07-28, the extension io.modelcontextprotocol/tasks: the gateway decides what is a task.
import { afterAll, beforeAll, expect } from 'vitest';
import { connectHttp } from '../../apps/worker/mcp/servers/connect.js';
import { decideAt, type ShownApproval } from '../support/approvals-client.js';
import type { StartedHere } from '../support/services/start-here.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { askModern, type ModernOptions } from '../support/task-clients.js';
import { startTaskSignalbox, type TaskSignalbox } from '../support/task-signalbox.js';
import { verifies } from '../verifies.js';

const patient = { timeout: 15_000, interval: 50 };
const asked = { capabilities: { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } } };
const accepted = { action: 'accept', content: { name: 'Ada' } };
let signalbox: TaskSignalbox<StartedHere>;
let url: string;

beforeAll(async () => {
  signalbox = await startTaskSignalbox(startSignalboxHere);
  ({ url } = signalbox.box);
}, 90_000);
afterAll(() => signalbox?.close());

const call = async (name: string, args: object, options?: ModernOptions) =>
  (await askModern(url, 'tools/call', { name, arguments: args }, options)).result;
const get = async (taskId: unknown, options?: ModernOptions) =>
  (await askModern(url, 'tasks/get', { taskId }, options)).result;
const ended = (taskId: unknown) =>
  expect.poll(async () => (await get(taskId))['status'], patient).not.toMatch(/working|input_required/);
const requestsOf = (task: Record<string, unknown>) => Object.entries(task['inputRequests'] as Record<string, object>);
const waitsFor = (taskId: unknown, requests: number) =>
  expect
    .poll(async () => Object.keys((await get(taskId, asked))['inputRequests'] ?? {}).length, patient)
    .toBe(requests);
const taskRuns = async () =>
  (await signalbox.box.rows<{ id: string }>('select id from runs where task_ttl_ms is not null')).map(({ id }) => id);

verifies('mcp.tasks-modern', 'a long call is answered with its task, whose result is in it', async () => {
  const { web, held } = signalbox;
  const { content: _empty, ...task } = await call('fetch', held('/long'));
  expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 30 * 86_400_000 });
  for (const absent of ['task', 'ttl', 'pollInterval', 'result', 'requestState'])
    expect(task).not.toHaveProperty(absent);
  expect(await get(task['taskId'])).toMatchObject({
    resultType: 'complete',
    status: 'working',
    taskId: task['taskId'],
  });
  await web.reached('/long');
  web.answer('/long');
  await ended(task['taskId']);
  const { status, result } = await get(task['taskId']);
  expect([status, result]).toMatchObject([
    'completed',
    { content: [{ text: expect.stringContaining('effect') as string }] },
  ]);
  expect((result as { _meta: object })._meta).not.toHaveProperty('io.modelcontextprotocol/related-task');
  expect(web.count('/long')).toBe(1);
});

verifies('mcp.tasks-modern', 'a short call is answered as any, also one that fails or is refused', async () => {
  expect(await call('get_time', {})).toMatchObject({
    resultType: 'complete',
    structuredContent: expect.any(Object) as object,
  });
  expect(await call('read_file', { path: 'none.txt' })).toMatchObject({ resultType: 'complete', isError: true });
  expect(await call('read_file', { path: 5 })).toMatchObject({ resultType: 'complete', isError: true });
  const unknown = await askModern(url, 'tools/call', { name: 'no_such_tool' });
  expect(unknown.error).toMatchObject({ code: -32_602, data: { code: 'tool_not_found' } });
});

verifies('mcp.tasks-modern', 'without the extension there are no tasks', async () => {
  const { web, held } = signalbox;
  const before = await taskRuns();
  const without = { capabilities: {} };
  const called = call('fetch', held('/plain'), without);
  await web.reached('/plain');
  web.answer('/plain');
  expect(await called).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
  expect(await call('get_time', {}, without)).not.toHaveProperty('taskId');
  expect(await taskRuns()).toEqual(before);
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { error } = await askModern(url, method, { taskId: 'run_none', inputResponses: {} }, without);
    const requiredCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    expect(error).toMatchObject({ code: -32_021, data: { requiredCapabilities } });
  }
  const { result } = await askModern(url, 'server/discover', {});
  expect(result['capabilities']).toMatchObject({ extensions: { 'io.modelcontextprotocol/tasks': {} } });
  expect(result['capabilities']).not.toHaveProperty('tasks');
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const { error } = await askModern(url, method, { taskId: 'run_none', inputResponses: {} });
    expect(error).toMatchObject({ code: -32_602 });
  }
  for (const method of ['tasks/result', 'tasks/list']) {
    expect((await askModern(url, method, { taskId: 'run_none' })).error).toMatchObject({ code: -32_601 });
  }
});

verifies('mcp.tasks-modern', 'a tool that needs headers of the request is never a task', async () => {
  // Nobody can be asked, so that it ends at once.
  expect(await call('book_forwarding', {})).toMatchObject({ resultType: 'complete', isError: true });
});

verifies('mcp.tasks-modern', 'cancelled: the tool stops', async () => {
  const { web, held, box } = signalbox;
  const { taskId } = await call('fetch', held('/cancel'));
  expect((await askModern(url, 'tasks/cancel', { taskId })).result).toEqual({
    resultType: 'complete',
    _meta: expect.any(Object) as object,
  });
  expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
  const states = () => box.rows('select state from tool_calls where run_id = $1', [taskId]);
  await expect.poll(states, patient).toEqual([{ state: 'cancelled' }]);
  // A second time as the first.
  expect((await askModern(url, 'tasks/cancel', { taskId })).error).toBeUndefined();
  expect(web.count('/cancel')).toBe(1);
});

verifies('mcp.tasks-modern', 'a client that goes before it knows the task stops the tool', async () => {
  const { web, held, box } = signalbox;
  const gone = new AbortController();
  const before = await taskRuns();
  const called = call('fetch', held('/gone'), { signal: gone.signal });
  called.catch(() => undefined);
  await web.reached('/gone');
  gone.abort();
  await expect(called).rejects.toThrow();
  const [taskId] = (await taskRuns()).filter((id) => !before.includes(id));
  const states = () => box.rows('select state from tool_calls where run_id = $1', [taskId]);
  await expect.poll(states, patient).toEqual([{ state: 'cancelled' }]);
});

verifies('mcp.tasks-ask', '2026-07-28: an approval, and questions of the tool, one after the other', async () => {
  const { taskId, status } = await call('write_file', { path: 'modern.txt', content: 'x' }, asked);
  expect(status).toBe('input_required');
  const [[id, request]] = requestsOf(await get(taskId, asked)) as [[string, object]];
  expect(request).toMatchObject({
    method: 'elicitation/create',
    params: { message: expect.stringContaining('write_file') as string },
  });
  const decision = { action: 'accept', content: { decision: 'approve' } };
  const update = (of: unknown, inputResponses: object) =>
    askModern(url, 'tasks/update', { taskId: of, inputResponses }, asked);
  // What was not asked has no effect.
  expect((await update(taskId, { other: decision })).result).toEqual({
    resultType: 'complete',
    _meta: expect.any(Object) as object,
  });
  expect(await get(taskId, asked)).toMatchObject({ status: 'input_required' });
  await update(taskId, { [id]: decision });
  await ended(taskId);
  expect(await get(taskId)).toMatchObject({ status: 'completed' });

  const book = await call('book_modern', { times: 2 }, asked);
  await waitsFor(book['taskId'], 1);
  const [[first]] = requestsOf(await get(book['taskId'], asked)) as [[string, object]];
  await update(book['taskId'], { [first]: accepted });
  await expect
    .poll(async () => Object.keys((await get(book['taskId'], asked))['inputRequests'] ?? {}), patient)
    .not.toContain(first);
  await waitsFor(book['taskId'], 1);
  const [[second]] = requestsOf(await get(book['taskId'], asked)) as [[string, object]];
  expect(second).not.toBe(first);
  await update(book['taskId'], { [second]: accepted });
  await ended(book['taskId']);
  const { result } = await get(book['taskId']);
  expect(JSON.parse((result as { content: { text: string }[] }).content[0]!.text)).toEqual([accepted, accepted]);
});

verifies(
  'mcp.tasks-ask',
  '2026-07-28: a client that cannot be asked, and a question whose task is cancelled',
  async () => {
    const { taskId } = await call('write_file', { path: 'nobody.txt', content: 'x' });
    const shown = await get(taskId);
    expect(shown).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('POST /api/approvals/') as string,
    });
    expect(shown).not.toHaveProperty('inputRequests');
    const { data } = (await (await fetch(`${url}/api/approvals?state=waiting`)).json()) as { data: ShownApproval[] };
    expect((await decideAt(url, data[0]!.id, { decision: 'deny', reason: 'not now' })).status).toBe(200);
    await ended(taskId);
    expect(await get(taskId)).toMatchObject({ status: 'completed', result: { isError: true } });

    const book = await call('book_modern', {}, asked);
    await waitsFor(book['taskId'], 1);
    await askModern(url, 'tasks/cancel', { taskId: book['taskId'] }, asked);
    expect(await get(book['taskId'])).toMatchObject({ status: 'cancelled' });
    const states = () => signalbox.box.rows('select state from tool_calls where run_id = $1', [book['taskId']]);
    await expect.poll(states, patient).toEqual([{ state: 'cancelled' }]);
  },
);

verifies('mcp.tasks-modern', 'followed by a client that knows tasks of other servers', async () => {
  const { web, held } = signalbox;
  const bounds = { maxBytes: 1e6, connectMs: 5_000, totalMs: 20_000, maxExchanges: 8 };
  const connection = await connectHttp(
    { url: `${url}/mcp`, headers: {}, bounds },
    { signal: AbortSignal.timeout(20_000), cancelGraceMs: 1_000, startTimeoutMs: 10_000, needed: () => undefined },
  );
  try {
    const options = { signal: AbortSignal.timeout(20_000), maxTimeoutMs: 20_000, onProgress: () => undefined };
    const before = await taskRuns();
    const called = connection.callTool({ tool: 'fetch', arguments: held('/followed'), meta: {} }, options);
    await web.reached('/followed');
    await expect.poll(async () => (await taskRuns()).length, patient).toBe(before.length + 1);
    web.answer('/followed');
    expect((await called).content).toMatchObject([{ text: expect.stringContaining('effect') as string }]);
  } finally {
    await connection.close();
  }
});
