// Questions of tool servers that nobody answers, and questions whose worker or gateway dies.
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { toolsReady } from '../support/services/start-signalbox.js';
import {
  ada,
  answersIn,
  asking,
  askingProcessesOfFile,
  decide,
  shown,
  tools,
  user,
} from '../support/asking-servers.js';
import { eventsOf } from '../support/events-client.js';
import { offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const box = askingProcessesOfFile();

const lives = { timeout: 40_000, interval: 200 };

/** Collects the events of a tools API stream; `asked` gets the id of each question. */
async function reported(url: string, tool: string, asked: (id: string) => unknown): Promise<JsonObject> {
  const body = { name: tool, arguments: {}, session_id: `faults_${tool}` };
  for await (const event of eventsOf(url, '/api/tools/call', body)) {
    if (event['type'] === 'approval_required') await asked((event['approval'] as JsonObject)['id'] as string);
    if (event['type'] === 'tool_result') return event['result'] as JsonObject;
  }
  throw new Error('the stream ended without a result');
}

for (const tool of ['book_http', 'book_new_http']) {
  verifies(
    'questions.expired',
    tool,
    async () => {
      const hasty = await box().startGateway({ APPROVALS_EXPIRES_MS: '1500' });
      await toolsReady(hasty.url);
      await expect.poll(async () => (await offeredTools(hasty.url)).has(tool), lives).toBe(true);
      let id = '';
      const result = await reported(hasty.url, tool, (asked) => (id = asked));
      expect(answersIn(result['content'] as string)).toEqual([{ action: 'cancel' }]);
      expect(await shown(id)).toMatchObject({ state: 'expired', decided_by: null });
      expect((await decide(id, ada)).status).toBe(409);
      const rows = `select state, success, result from audit_events where approval_id = $1 and kind = 'question'`;
      expect(await box().rows(rows, [id])).toEqual([
        { state: 'expired', success: false, result: 'Nobody answered in time' },
      ]);
    },
    60_000,
  );
}

verifies(
  'questions.gateway-died',
  'its call goes on, and another gateway has the answer and the outcome',
  async () => {
    const call = async (url: string) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'outlives' };
      const body = JSON.stringify({ name: 'book_http', arguments: {}, session_id: 'outlives' });
      const response = await fetch(`${url}/api/tools/call`, { method: 'POST', headers, body });
      return { status: response.status, body: (await response.json()) as JsonObject };
    };
    const [, other] = asking.box.gateways;
    const doomed = await box().startGateway();
    await expect.poll(async () => (await offeredTools(doomed.url)).has('book_http'), lives).toBe(true);
    const asked = await call(doomed.url);
    expect(asked.status).toBe(202);
    doomed.kill('SIGKILL');
    await doomed.ended;
    const { id } = asked.body['approval'] as JsonObject;
    expect((await decide(id as string, ada, other!.url)).status).toBe(200);
    const ended = await call(other!.url);
    expect(ended.status).toBe(200);
    expect(answersIn(ended.body['content'] as string)).toEqual([{ action: 'accept', content: ada.arguments }]);
  },
  90_000,
);

verifies(
  'questions.gateway-died',
  'a chat that held goes on elsewhere, with its key',
  async () => {
    asking.called = { tool: 'book_http', arguments: {} };
    const headers = { 'idempotency-key': 'held' };
    const body = { stream: true, messages: [user('Book')], tools, session_id: 'held_elsewhere' };
    const doomed = await box().startGateway();
    await expect.poll(async () => (await offeredTools(doomed.url)).has('book_http'), lives).toBe(true);
    const asked: unknown[] = [];
    await expect(async () => {
      for await (const event of eventsOf(doomed.url, '/api/chat/completions', body, { headers })) {
        if (event['type'] !== 'approval_required') continue;
        asked.push((event['approval'] as JsonObject)['id']);
        doomed.kill('SIGKILL');
      }
    }).rejects.toThrow();
    let text = '';
    // Until the death is noticed, the other gateway follows the stored events.
    await expect
      .poll(async () => {
        for await (const event of eventsOf(asking.box.gateways[1]!.url, '/api/chat/completions', body, { headers })) {
          if (event['type'] === 'content') text += (event['delta'] as { content: string }).content;
          if (event['type'] !== 'approval_required') continue;
          const { id } = event['approval'] as JsonObject;
          asked.push(id);
          await decide(id as string, ada);
        }
        return text;
      }, lives)
      .toContain('Result');
    expect(new Set(asked).size).toBe(1);
    expect(answersIn(text)).toEqual([{ action: 'accept', content: ada.arguments }]);
  },
  120_000,
);

verifies(
  'approvals.alone',
  'a question of a detached turn is answered, or expires, right after its gateway was killed',
  async () => {
    asking.called = { tool: 'book_http', arguments: {} };
    const doomed = await box().startGateway();
    await expect.poll(async () => (await offeredTools(doomed.url)).has('book_http'), lives).toBe(true);
    const sessions = ['alone_answered', 'alone_expired'];
    const ids = await Promise.all(
      sessions.map(async (session) => {
        const body = { stream: true, messages: [user('Book')], tools, session_id: session, on_disconnect: 'detach' };
        const events = eventsOf(doomed.url, '/api/chat/completions', body);
        for (;;) {
          const { value } = await events.next();
          if (value?.['type'] === 'approval_required') return (value['approval'] as JsonObject)['id'] as string;
        }
      }),
    );
    doomed.kill('SIGKILL');
    await doomed.ended;
    expect((await decide(ids[0]!, ada)).status).toBe(200);
    await asking.box.rows('update approvals set expires_at = clock_timestamp() where id = $1', [ids[1]]);
    const ended = ['accept', 'cancel'].map((action) => ['done', expect.stringContaining(`\\"action\\":\\"${action}`)]);
    const runs = async () =>
      Promise.all(
        sessions.map(async (session) => {
          const sql = 'select state, answer::text as reported from runs where session_id = $1';
          const [run] = await asking.box.rows<{ state: string; reported: string }>(sql, [session]);
          return [run!.state, run!.reported];
        }),
      );
    await expect.poll(runs, lives).toEqual(ended);
  },
  90_000,
);

verifies(
  'questions.worker-died',
  'the outcome is not known, and nobody can answer any more',
  async () => {
    let id = '';
    const result = await reported(asking.box.url, 'book_http', async (asked) => {
      id = asked;
      for (const worker of box().workers) worker.kill('SIGKILL');
      await asking.box.startWorker();
    });
    expect(result['error']).toMatchObject({ code: 'tool_outcome_unknown' });
    await expect.poll(async () => (await shown(id))['state'], lives).toBe('cancelled');
    expect((await decide(id, ada)).status).toBe(409);
  },
  120_000,
);
