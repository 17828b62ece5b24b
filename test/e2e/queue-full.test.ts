// More calls than the queue may hold: the surplus is refused immediately with a retry time; accepted calls finish.
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const limit = 3;
let box: SignalboxHere;
let web: HeldWeb;
beforeAll(async () => {
  web = await openHeldWeb();
  box = await startSignalboxHere({
    script: rounds({ toolCalls: [{ name: 'get_time', arguments: {} }] }, { text: 'I could not look at the clock' }),
    environment: { TOOLS_FETCH_ALLOW: '127.0.0.1', LIMITS_QUEUE_LENGTH: String(limit), WORKER_CONCURRENCY: '1' },
  });
});
afterAll(async () => {
  await box?.close();
  web?.close();
});

async function query<Row extends object>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

verifies('tools.queue-full', 'the tools API, and a turn in which the model asks for a tool', async () => {
  const held = { name: 'fetch', arguments: { url: `${web.url}/held`, method: 'POST' } };
  const first = post(box.url, '/api/tools/call', held);
  await web.reached('/held');
  const refusals: { tookMs: number; retryAfter: number }[] = [];
  const taken: Promise<number>[] = [];
  // One by one, until the queue stays full.
  while (refusals.length < 5 && taken.length < 50) {
    const since = performance.now();
    const call = post(box.url, '/api/tools/call', { name: 'get_time', arguments: {} });
    const soon = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 700));
    const answer = await Promise.race([call, soon]);
    if (answer === undefined) {
      taken.push(call.then(({ status }) => status));
      continue;
    }
    expect([answer.status, answer.body.error?.code]).toEqual([503, 'queue_full']);
    refusals.push({
      tookMs: performance.now() - since,
      retryAfter: Number(answer.headers.get('retry-after')),
    });
  }
  expect(taken).toHaveLength(limit);
  expect(refusals.every(({ tookMs, retryAfter }) => tookMs < 700 && retryAfter > 0)).toBe(true);

  const turn = { messages: [{ role: 'user', content: 'time?' }], tools: [workspaceTools] };
  const { status, body } = await post(box.url, '/api/chat/completions', turn);
  expect([status, body.choices[0]!.message.content]).toEqual([200, 'I could not look at the clock']);
  expect(body.tool_execution!.calls[0]).toMatchObject({ name: 'get_time', success: false });
  expect(messagesOf(box.upstream.requests.at(-1)!).at(-1)).toMatchObject({ role: 'tool' });

  const metrics = await (await fetch(`${box.url}/metrics`)).text();
  expect(metrics).toContain('signalbox_rate_limited_total{limit="queue_length"} 6');

  web.answer('/held');
  expect((await first).status).toBe(200);
  expect(await Promise.all(taken)).toEqual(Array(limit).fill(200));
  // Refused calls leave no open calls; each call has exactly one audit row.
  const counted = await query<{ state: string; calls: string; audits: string }>(
    `select tool_calls.state, count(*) as calls, count(audit.call_id) as audits from tool_calls
     left join audit_events audit on audit.call_id = tool_calls.id group by tool_calls.state order by tool_calls.state`,
  );
  expect(counted.map(({ state }) => state)).toEqual(['cancelled', 'completed']);
  expect(counted.every(({ calls, audits }) => calls === audits)).toBe(true);
});
