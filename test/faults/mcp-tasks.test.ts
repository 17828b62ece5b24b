// A gateway, or a worker, dies in the middle of a task of an MCP client: another gateway has the task, and its tool ran once.
import { afterAll, beforeAll, expect } from 'vitest';
import { decideAt, type ShownApproval } from '../support/approvals-client.js';
import { eventually } from '../support/eventually.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { type TaskClient, taskClients } from '../support/task-clients.js';
import { startTaskSignalbox, type TaskSignalbox } from '../support/task-signalbox.js';
import { verifies } from '../verifies.js';

/** A dead process is known as dead within 15 s; a busy machine takes longer. */
const patient = { timeout: 60_000, interval: 100 };
const connect = taskClients['the 1.x client'];
let signalbox: TaskSignalbox<StartedProcess>;
let box: Signalbox;
let survivor: TaskClient;

beforeAll(async () => {
  const environment = { DATABASE_TIMEOUT_MS: '10000' };
  signalbox = await startTaskSignalbox(startSignalbox, { workers: 1, environment });
  ({ box } = signalbox);
  survivor = await connect(box.url);
}, 120_000);
afterAll(async () => {
  await survivor?.close();
  await signalbox?.close();
});

/** On a gateway that is killed once the tool, or whoever is asked, has heard of the task. */
async function begunOnDoomed(name: string, args: object, heard: (taskId: string) => Promise<unknown>): Promise<string> {
  const doomed = await box.startGateway();
  await toolsReady(doomed.url);
  const client = await connect(doomed.url);
  const { taskId } = await client.begin(name, args);
  await heard(taskId);
  doomed.kill('SIGKILL');
  await doomed.ended;
  await client.close().catch(() => undefined);
  return taskId;
}

for (const when of ['during', 'after'] as const) {
  verifies(
    'mcp.tasks-killed',
    `its gateway; the call ends ${when === 'during' ? 'after its run was found without a gateway' : 'at once'}`,
    async () => {
      const { web, held } = signalbox;
      const path = `/gateway-${when}`;
      const taskId = await begunOnDoomed('fetch', held(path), () => web.reached(path));
      expect(await survivor.get(taskId)).toMatchObject({ status: 'working' });
      const result = survivor.result(taskId);
      if (when === 'during') {
        const state = () => box.rows('select state from runs where id = $1', [taskId]);
        await expect.poll(state, patient).toEqual([{ state: 'interrupted' }]);
      }
      web.answer(path);
      expect(await result).toMatchObject({ content: [{ text: expect.stringContaining('effect') as string }] });
      expect(await survivor.get(taskId)).toMatchObject({ status: 'completed' });
      expect(web.count(path)).toBe(1);
    },
    120_000,
  );
}

verifies(
  'mcp.tasks-killed',
  'its gateway, while the task waits for an approval',
  async () => {
    const statusOf = async (taskId: string) => (await survivor.get(taskId)).status;
    const args = { path: 'killed.txt', content: 'once\n', append: true };
    const taskId = await begunOnDoomed('write_file', args, (id) =>
      eventually(async () => (await statusOf(id)) === 'input_required'),
    );
    expect(await statusOf(taskId)).toBe('input_required');
    const { data } = (await (await fetch(`${box.url}/api/approvals?state=waiting`)).json()) as {
      data: ShownApproval[];
    };
    expect((await decideAt(box.url, data[0]!.id, { decision: 'approve' })).status).toBe(200);
    expect((await survivor.result(taskId)).isError).toBeUndefined();
    expect(await statusOf(taskId)).toBe('completed');
  },
  120_000,
);

verifies(
  'mcp.tasks-killed',
  'its worker: a tool that may have run is not run again, and the task says so',
  async () => {
    const { web, held } = signalbox;
    const { taskId } = await survivor.begin('fetch', held('/worker'));
    await web.reached('/worker');
    const [doomed] = box.workers;
    await box.startWorker();
    doomed!.kill('SIGKILL');
    const result = await survivor.result(taskId);
    expect([result.isError, result._meta?.['signalbox/error_code']]).toEqual([true, 'tool_outcome_unknown']);
    expect(await survivor.get(taskId)).toMatchObject({ status: 'failed', statusMessage: expect.any(String) as string });
    expect(web.count('/worker')).toBe(1);
  },
  120_000,
);

verifies(
  'mcp.tasks-killed',
  'cancelled on another gateway after its own has died',
  async () => {
    const { web, held } = signalbox;
    const taskId = await begunOnDoomed('fetch', held('/cancelled'), () => web.reached('/cancelled'));
    const cancelled = async () => (await survivor.cancel(taskId).catch(() => survivor.get(taskId))).status;
    await expect.poll(cancelled, patient).toBe('cancelled');
    const states = () => box.rows('select state from tool_calls where run_id = $1', [taskId]);
    await expect.poll(states, patient).toEqual([{ state: 'cancelled' }]);
  },
  120_000,
);
