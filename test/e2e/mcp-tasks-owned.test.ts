// Whose tasks are whose, and what counts for their owner, on a gateway that takes keys.
import { afterAll, beforeAll, expect } from 'vitest';
import type { Answered } from '../support/asking-clients.js';
import { eventually } from '../support/eventually.js';
import { post } from '../support/scripts.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { type Task, type TaskClient, taskClients } from '../support/task-clients.js';
import { startTaskSignalbox, type TaskSignalbox } from '../support/task-signalbox.js';
import { audience, startTokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const patient = { timeout: 15_000, interval: 50 };
const connect = taskClients['the 1.x client'];
let signalbox: TaskSignalbox<StartedHere>;
let admin: string;
let ada: TaskClient;
let bob: TaskClient;

const makeKey = async (owner: string, more: object = {}) => {
  const headers: Record<string, string> = admin === undefined ? {} : { 'x-api-key': admin };
  const { body } = await post(signalbox.box.url, '/api/keys', { owner, scopes: ['tools'], ...more }, headers);
  return (body as unknown as { key: string }).key;
};

beforeAll(async () => {
  signalbox = await startTaskSignalbox(startSignalboxHere);
  const { url } = signalbox.box;
  admin = await makeKey('root', { scopes: ['admin'] });
  await eventually(async () => (await fetch(`${url}/api/tools`)).status === 401);
  ada = await connect(url, { key: await makeKey('ada', { limits: { turns: 1 } }) });
  bob = await connect(url, { key: await makeKey('bob', { tools: { deny: ['workspace/write_*'] } }) });
}, 90_000);
afterAll(async () => {
  await ada?.close();
  await bob?.close();
  await signalbox?.close();
});

const listed = async (client: TaskClient, params: object = {}) =>
  (await client.request('tasks/list', params)) as unknown as { tasks: Task[]; nextCursor?: string };
const idsOf = ({ tasks }: { tasks: Task[] }) => tasks.map(({ taskId }) => taskId);

verifies('mcp.tasks-refused', 'a task of somebody else is not known, whatever is asked', async () => {
  const { taskId } = await ada.begin('get_time');
  await ada.result(taskId);
  const unknown = await bob.get('run_none').catch((error: Error) => error.message.replace('run_none', taskId));
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    const refused = await bob.request(method, { taskId }).catch((error: Error) => error);
    expect(refused).toMatchObject({ code: -32_602, message: unknown });
  }
  expect(idsOf(await listed(ada))).toContain(taskId);
  expect(idsOf(await listed(bob))).not.toContain(taskId);
  // A call with the same tool that its key denies is refused as one without a task.
  await expect(bob.begin('write_file', { path: 'a', content: 'x' })).rejects.toMatchObject({ code: -32_602 });
});

verifies(
  'mcp.tasks-limits',
  'a task takes one of the places of its owner until it ends or waits for people',
  async () => {
    const { web, held } = signalbox;
    const { taskId } = await ada.begin('fetch', held('/place'));
    await web.reached('/place');
    await expect(ada.begin('get_time')).rejects.toThrow('You already have 1 turns in progress');
    expect(await ada.get(taskId)).toMatchObject({ status: 'working' });
    web.answer('/place');
    await ada.result(taskId);
    const waits = await eventuallyBegun(() => ada.begin('write_file', { path: 'place.txt', content: 'x' }));
    await expect.poll(async () => (await ada.get(waits.taskId)).status, patient).toBe('input_required');
    const next = await eventuallyBegun(() => ada.begin('get_time'));
    await ada.result(next.taskId);
    await ada.cancel(waits.taskId);
  },
);

/** The place is given back a moment after the end of the task can be seen. */
async function eventuallyBegun(begin: () => Promise<Task>): Promise<Task> {
  let begun: Task | undefined;
  await eventually(async () => (begun = await begin().catch(() => undefined)) !== undefined);
  return begun!;
}

verifies('mcp.tasks', 'many are listed in pages, the newest first, each once', async () => {
  const begun = [];
  for (let count = 0; count < 103; count += 1) begun.push((await bob.begin('get_time')).taskId);
  const first = await listed(bob);
  const second = await listed(bob, { cursor: first.nextCursor });
  expect(first.tasks).toHaveLength(100);
  expect([...idsOf(first), ...idsOf(second)].slice(0, 103)).toEqual(begun.reverse());
  expect(second.nextCursor).toBeUndefined();
});

verifies('mcp.tasks-ask', 'a task of a token, which no other gateway could go on with, stays at its own', async () => {
  const { box } = signalbox;
  const issuer = await startTokenIssuer();
  try {
    const gateway = await box.startGateway({ AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: audience });
    const answers = ({ message }: { message: string }): Answered => ({
      action: 'accept',
      content: message.startsWith('Allow') ? { decision: 'approve' } : { name: 'Ada' },
    });
    const client = await connect(gateway.url, { key: await issuer.token({ claims: { scope: 'tools' } }), answers });
    await eventually(async () => JSON.stringify(await client.request('tools/list')).includes('book_modern'));
    for (const [tool, args] of Object.entries({ write_file: { path: 'token.txt', content: 'x' }, book_modern: {} })) {
      const { taskId } = await client.begin(tool, args);
      await expect.poll(async () => (await client.get(taskId)).status, patient).toBe('input_required');
      expect(await box.rows('select state from runs where id = $1', [taskId])).toEqual([{ state: 'running' }]);
      expect((await client.result(taskId)).isError).toBeUndefined();
    }
    await client.close();
  } finally {
    await issuer.stop();
  }
});
