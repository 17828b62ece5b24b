// Calls of /mcp as tasks, in the form of 2025-11-25, by the official clients that have it.
import { afterAll, beforeAll, expect } from 'vitest';
import { decideAt, type ShownApproval } from '../support/approvals-client.js';
import { addressOf, type CallResult } from '../support/mcp-clients.js';
import { rawRequest } from '../support/raw-request.js';
import type { StartedHere } from '../support/services/start-here.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { oldSdkClient, type Task, type TaskClient, taskClients, type TaskOptions } from '../support/task-clients.js';
import { startTaskSignalbox, type TaskSignalbox } from '../support/task-signalbox.js';
import { verifies } from '../verifies.js';

const patient = { timeout: 15_000, interval: 50 };
const related = 'io.modelcontextprotocol/related-task';
const refused = { code: -32_602 };
const approved = { action: 'accept', content: { decision: 'approve' } } as const;
const accepted = { action: 'accept', content: { name: 'Ada' } } as const;
let box: TaskSignalbox<StartedHere>['box'];
let web: TaskSignalbox<StartedHere>['web'];
let held: TaskSignalbox<StartedHere>['held'];
let close: () => Promise<void>;

beforeAll(async () => {
  ({ box, web, held, close } = await startTaskSignalbox(startSignalboxHere, { gateways: 2 }));
}, 90_000);
afterAll(() => close?.());

const textOf = ({ content }: CallResult) => (content as { text: string }[])[0]!.text;
const statusOf = async (client: TaskClient, { taskId }: Task) => (await client.get(taskId)).status;

async function waitingApproval(): Promise<ShownApproval> {
  const answer = await fetch(`${box.url}/api/approvals?state=waiting`);
  return ((await answer.json()) as { data: ShownApproval[] }).data[0]!;
}

for (const [name, connect] of Object.entries(taskClients)) {
  const slug = name.replaceAll(/\W+/g, '-');
  const withClient = async (body: (client: TaskClient) => Promise<void>, options: TaskOptions = {}) => {
    const client = await connect(box.url, options);
    try {
      await body(client);
    } finally {
      await client.close();
    }
  };

  verifies('mcp.tasks', `${name}: begun, looked at, its result waited for, listed`, () => {
    const told: Task[] = [];
    return withClient(
      async (client) => {
        const path = `/begun/${slug}`;
        const begun = await client.begin('fetch', held(path), { ttl: 60_000 });
        expect(begun).toMatchObject({ status: 'working', ttl: 60_000, pollInterval: expect.any(Number) as number });
        expect(Date.parse(begun.createdAt)).toBeLessThanOrEqual(Date.parse(begun.lastUpdatedAt));
        await web.reached(path);
        expect(await client.get(begun.taskId)).toMatchObject({ ...begun, lastUpdatedAt: expect.any(String) as string });
        const result = client.result(begun.taskId);
        web.answer(path);
        const { _meta, ...ended } = await result;
        expect(ended).toMatchObject({ content: [{ text: expect.stringContaining('effect') as string }] });
        expect(_meta).toMatchObject({
          [related]: { taskId: begun.taskId },
          'signalbox/call_id': expect.any(String) as string,
        });
        expect(await client.get(begun.taskId)).toMatchObject({ status: 'completed' });
        expect(await client.result(begun.taskId)).toMatchObject(ended);
        const { tasks } = (await client.request('tasks/list')) as unknown as { tasks: Task[] };
        expect(tasks[0]).toMatchObject({ taskId: begun.taskId, status: 'completed', ttl: 60_000 });
        expect(web.count(path)).toBe(1);
        await expect.poll(() => told, patient).toMatchObject([{ taskId: begun.taskId, status: 'completed' }]);
      },
      { onStatus: (task) => told.push(task) },
    );
  });

  verifies('mcp.tasks-cancelled', `${name}: reaches the tool, and is no second time`, () =>
    withClient(async (client) => {
      const path = `/cancelled/${slug}`;
      const { taskId } = await client.begin('fetch', held(path));
      await web.reached(path);
      expect(await client.cancel(taskId)).toMatchObject({ taskId, status: 'cancelled' });
      expect(await client.get(taskId)).toMatchObject({ status: 'cancelled' });
      const states = () => box.rows('select state from tool_calls where run_id = $1', [taskId]);
      await expect.poll(states, patient).toEqual([{ state: 'cancelled' }]);
      await expect(client.result(taskId)).rejects.toMatchObject(refused);
      await expect(client.cancel(taskId)).rejects.toMatchObject(refused);
    }),
  );

  verifies('mcp.tasks-ended', `${name}: a tool that fails, arguments that are wrong, a tool that there is not`, () =>
    withClient(async (client) => {
      const failed = await client.begin('read_file', { path: 'none.txt' });
      const result = await client.result(failed.taskId);
      expect([result.isError, (await client.get(failed.taskId)).status]).toEqual([true, 'failed']);
      expect((await client.get(failed.taskId)).statusMessage).toBe(textOf(result));
      const wrong = await client.begin('read_file', { path: 5 });
      expect(await client.result(wrong.taskId)).toMatchObject({
        isError: true,
        _meta: { 'signalbox/error_code': 'invalid_tool_arguments' },
      });
      await expect(client.begin('no_such_tool')).rejects.toMatchObject(refused);
    }),
  );

  verifies('mcp.tasks-ask', `${name}: an approval and a question, on the stream of the result`, () => {
    const asked: { message: string; meta: unknown }[] = [];
    return withClient(
      async (client) => {
        const write = await client.begin('write_file', { path: `${slug}.txt`, content: 'x' });
        await expect.poll(() => statusOf(client, write), patient).toBe('input_required');
        expect((await client.get(write.taskId)).statusMessage).toContain('Writes a file');
        expect((await client.result(write.taskId)).isError).toBeUndefined();
        const book = await client.begin('book_modern', { times: 2 });
        expect(JSON.parse(textOf(await client.result(book.taskId)))).toEqual([accepted, accepted]);
        expect(asked.map(({ message }) => message)).toEqual([
          expect.stringContaining("Allow the call of 'write_file'?"),
          'Who travels? (1)',
          'Who travels? (2)',
        ]);
        expect(asked[0]!.meta).toMatchObject({ [related]: { taskId: write.taskId } });
        expect(asked[2]!.meta).toMatchObject({ [related]: { taskId: book.taskId } });
      },
      {
        answers: ({ message }, meta) => {
          asked.push({ message, meta });
          return message.startsWith('Allow') ? approved : accepted;
        },
      },
    );
  });
}

verifies(
  'mcp.tasks-ask',
  'a client that cannot be asked is told where to decide, and waits for the result',
  async () => {
    const client = await taskClients['the 1.x client'](box.url);
    const write = await client.begin('write_file', { path: 'elsewhere.txt', content: 'x' });
    await expect.poll(() => statusOf(client, write), patient).toBe('input_required');
    const { id, run_id } = await waitingApproval();
    expect([run_id, (await client.get(write.taskId)).statusMessage]).toEqual([
      write.taskId,
      expect.stringContaining(`POST /api/approvals/${id}`),
    ]);
    const result = client.result(write.taskId);
    // By the gateway that has not begun it.
    expect((await decideAt(box.gateways[1]!.url, id, { decision: 'approve' })).status).toBe(200);
    expect((await result).isError).toBeUndefined();

    const denied = await client.begin('write_file', { path: 'denied.txt', content: 'x' });
    await expect.poll(() => statusOf(client, denied), patient).toBe('input_required');
    await decideAt(box.url, (await waitingApproval()).id, { decision: 'deny', reason: 'not now' });
    const refusal = await client.result(denied.taskId);
    expect([refusal._meta?.['signalbox/error_code'], textOf(refusal)]).toEqual([
      'approval_denied',
      expect.stringContaining('not now'),
    ]);

    const cancelled = await client.begin('write_file', { path: 'cancelled.txt', content: 'x' });
    await expect.poll(() => statusOf(client, cancelled), patient).toBe('input_required');
    const approval = await waitingApproval();
    expect(await client.cancel(cancelled.taskId)).toMatchObject({ status: 'cancelled' });
    expect((await decideAt(box.url, approval.id, { decision: 'approve' })).status).toBe(409);
    await client.close();
  },
);

verifies('mcp.tasks-ask', 'a client that cannot be asked answers nothing in place of one that can', async () => {
  const asking = await taskClients['the 1.x client'](box.url, { answers: () => accepted });
  const silent = await taskClients['the 1.x client'](box.url);
  const book = await asking.begin('book_modern');
  await expect.poll(() => statusOf(silent, book), patient).toBe('input_required');
  expect((await silent.get(book.taskId)).statusMessage).toContain('Who travels?');
  const result = silent.result(book.taskId);
  expect(await asking.result(book.taskId)).toMatchObject({ content: [{ text: JSON.stringify([accepted]) }] });
  expect(JSON.parse(textOf(await result))).toEqual([accepted]);
  await Promise.all([asking.close(), silent.close()]);
});

verifies('mcp.tasks', 'by the official client from the call to the result, which asks on its way', async () => {
  const client = await oldSdkClient(box.url, { answers: () => approved });
  const { tools } = await client.listTools();
  const support = (tool: string) => tools.find(({ name }) => name === tool)?.execution?.taskSupport;
  expect([support('write_file'), support('book_forwarding')]).toEqual(['optional', undefined]);
  const call = { name: 'write_file', arguments: { path: 'official.txt', content: 'x' } };
  const seen: string[] = [];
  for await (const message of client.experimental.tasks.callToolStream(call)) seen.push(message.type);
  expect([seen[0], seen.at(-1), seen.includes('taskStatus')]).toEqual(['taskCreated', 'result', true]);
  await client.close();
});

verifies('mcp.tasks', 'the official client is told of progress after its call was answered', async () => {
  const client = await oldSdkClient(box.url);
  await client.listTools();
  const reported: unknown[] = [];
  const onprogress = (progress: unknown) => void reported.push(progress);
  const call = { name: 'add', arguments: { a: 2, b: 3 } };
  const stream = client.experimental.tasks.callToolStream(call, undefined, { onprogress, task: {} });
  expect((await stream.next()).value).toMatchObject({ type: 'taskCreated' });
  for await (const message of stream) if (message.type === 'error') throw message.error;
  expect(reported).toMatchObject([
    { progress: 1, total: 2 },
    { progress: 2, total: 2 },
  ]);
  await client.close();
});

verifies('mcp.tasks', 'on any gateway, in a toolset, by the tool that calls others', async () => {
  const [here, there] = await Promise.all(box.gateways.map(({ url }) => taskClients['the 1.x client'](url)));
  const set = await taskClients['the 1.x client'](`${box.url}/mcp/web`);
  const searching = await taskClients['the 1.x client'](`${box.url}/mcp?mode=search`);
  const begun = [
    await here!.begin('fetch', held('/other')),
    await set.begin('get_page', held('/set')),
    await searching.begin('call_tool', { name: 'fetch', arguments: held('/search') }),
  ];
  for (const path of ['/other', '/set', '/search']) {
    await web.reached(path);
    web.answer(path);
  }
  for (const { taskId } of begun) expect(textOf(await there!.result(taskId))).toContain('effect');
  const cancelled = await here!.begin('fetch', held('/stopped-there'));
  await web.reached('/stopped-there');
  expect(await there!.cancel(cancelled.taskId)).toMatchObject({ status: 'cancelled' });
  await Promise.all([here, there, set, searching].map((client) => client!.close()));
});

verifies(
  'mcp.tasks-refused',
  'a tool that needs headers of the request, tasks that there are not, bad cursors',
  async () => {
    const client = await taskClients['the 1.x client'](box.url);
    await expect(client.begin('book_forwarding')).rejects.toMatchObject({ code: -32_601 });
    const plain = await client.request('tools/call', { name: 'read_file', arguments: { path: 'none.txt' } });
    expect('task' in plain).toBe(false);
    const { taskId: id } = await client.begin('get_time');
    const nobody = `${id.slice(0, -4)}ffff`;
    for (const taskId of [nobody, 'run_none', "'; drop table runs", '\0']) {
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
        await expect(client.request(method, { taskId })).rejects.toMatchObject(refused);
      }
    }
    for (const params of [{}, { taskId: 5 }]) {
      await expect(client.request('tasks/get', params)).rejects.toMatchObject(refused);
    }
    for (const cursor of ['none', Buffer.from('run_').toString('base64url')]) {
      await expect(client.request('tasks/list', { cursor })).rejects.toMatchObject(refused);
    }
    await expect(client.request('tasks/update', { taskId: id })).rejects.toMatchObject({ code: -32_601 });
    await client.close();
  },
);

verifies('mcp.tasks', 'without a session', async () => {
  const post = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const { text } = await rawRequest(box.url, { path: addressOf(box.url, '/mcp').pathname, body });
    return (JSON.parse(text) as { result: Record<string, unknown> }).result;
  };
  const { task } = await post('tools/call', { name: 'get_time', arguments: {}, task: {} });
  const { taskId, ttl } = task as Task;
  expect(ttl).toBe(30 * 86_400_000);
  expect(await post('tasks/result', { taskId })).toMatchObject({ structuredContent: expect.any(Object) as object });
  expect(await post('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
});

verifies('mcp.tasks-kept', 'until the time that the client asked for, at most as long as runs are', async () => {
  const client = await taskClients['the 1.x client'](box.url);
  const long = await client.begin('get_time', {}, { ttl: 1e15 });
  expect(long.ttl).toBe(30 * 86_400_000);
  const { taskId } = await client.begin('fetch', held('/kept'), { ttl: 60_000 });
  await web.reached('/kept');
  await box.rows(`update runs set created_at = created_at - interval '1 minute' where id = $1`, [taskId]);
  // The task goes on, so that its result is not lost to whoever waits for it.
  expect(await client.get(taskId)).toMatchObject({ status: 'working' });
  web.answer('/kept');
  await expect(client.get(taskId)).resolves.toBeDefined();
  const gone = async () =>
    client.get(taskId).then(
      () => 'there',
      ({ code }: { code: number }) => code,
    );
  await expect.poll(gone, patient).toBe(-32_602);
  const { tasks } = (await client.request('tasks/list')) as unknown as { tasks: Task[] };
  expect(tasks.map((task) => task.taskId)).toContain(long.taskId);
  expect(tasks.map((task) => task.taskId)).not.toContain(taskId);
  await client.close();
});
