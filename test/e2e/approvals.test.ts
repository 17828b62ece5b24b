// Calls that wait for an approval: held streams, the tools API, the approvers' API, the webhook, the audit.
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { SignalboxHere } from '../support/services/start-signalbox.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { type ShownApproval, startAskingSignalbox, user, writing } from '../support/approvals-client.js';
import { turnEvents } from '../support/events-client.js';
import { post, rounds, workspaceTools } from '../support/scripts.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const secret = 'whsec_c2lnbmFsYm94LXRlc3Q=';
const reported: { headers: IncomingHttpHeaders; body: string }[] = [];
/** How often the webhook fails for this file. */
let failures = 1;
const hook = createServer((request, reply) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    reported.push({ headers: request.headers, body });
    const fails = body.includes('hook.txt') && failures-- > 0;
    reply.writeHead(fails ? 500 : 204).end();
  });
});
let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedHere>>>;
let box: SignalboxHere;

beforeAll(async () => {
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const { port } = hook.address() as AddressInfo;
  const webhook = { url: `http://127.0.0.1:${port}/hook`, secret: '${HOOK_SECRET}' };
  asking = await startAskingSignalbox(
    startSignalboxHere,
    { gateways: 2, environment: { HOOK_SECRET: secret, POLICY_DEFAULT: 'by_origin' } },
    { webhook },
  );
  ({ box } = asking);
}, 60_000);
afterAll(async () => {
  await asking?.close();
  hook.close();
});

const approvalIn = (chunk: JsonObject): ShownApproval => chunk['approval'] as ShownApproval;

for (const [name, decision, file] of [
  ['approved', { decision: 'approve' }, 'one'],
  ['edited', { decision: 'approve', arguments: { path: 'h.txt', content: 'changed' } }, 'changed'],
  ['denied', { decision: 'deny', reason: 'no' }, undefined],
] as const) {
  verifies('approvals.held', `${name} on the other gateway`, async () => {
    asking.follow(writing('h.txt'));
    const other = box.gateways[1]!.url;
    const types: unknown[] = [];
    let text = '';
    for await (const chunk of turnEvents(box.url, { messages: [user('Write')], session_id: `held_${name}` })) {
      types.push(chunk['type']);
      if (chunk['type'] === 'content') text += String((chunk['delta'] as { content?: string }).content);
      if (chunk['type'] !== 'approval_required') continue;
      const { id } = approvalIn(chunk);
      expect(await metricOf(other, 'signalbox_approvals_pending')).toBeGreaterThan(0);
      expect(await metricOf(other, 'signalbox_approvals_oldest_age_seconds')).toBeGreaterThan(0);
      const waiting = (await (await fetch(`${other}/api/approvals?state=waiting`)).json()) as { data: ShownApproval[] };
      expect(waiting.data.map((each) => each.id)).toContain(id);
      expect((await asking.decide(id, decision, other)).status).toBe(200);
      expect(await asking.decide(id, { decision: 'deny' }, box.url)).toMatchObject({
        status: 409,
        body: { error: { code: 'approval_already_decided' } },
      });
    }
    expect(types).toContain('tool_result');
    expect(types.at(-1)).toBe('done');
    expect(text).toContain(name === 'denied' ? 'was refused: no' : 'h.txt');
    expect(await asking.fileOf(`held_${name}`, 'h.txt')).toBe(file);
  });
}

verifies('approvals.waiting-run', 'held, and then decided', async () => {
  asking.follow(writing('shown.txt'));
  const states: unknown[] = [];
  let runId: unknown;
  const shown = async () =>
    ((await (await fetch(`${box.url}/api/runs/${String(runId)}`)).json()) as JsonObject)['state'];
  for await (const chunk of turnEvents(box.url, { messages: [user('Write')], session_id: 'shown' })) {
    if (chunk['type'] !== 'approval_required') continue;
    const { id } = approvalIn(chunk);
    runId = (await asking.approval(id))['run_id'];
    states.push(await shown());
    await asking.decide(id, { decision: 'approve' });
  }
  expect([...states, await shown()]).toEqual(['waiting', 'done']);
});

verifies('approvals.left', 'a held stream that is closed', async () => {
  asking.follow(writing('left.txt'));
  const leave = new AbortController();
  let id = '';
  await expect(async () => {
    for await (const chunk of turnEvents(
      box.url,
      { messages: [user('Write')], session_id: 'left' },
      { signal: leave.signal },
    )) {
      if (chunk['type'] !== 'approval_required') continue;
      ({ id } = approvalIn(chunk));
      leave.abort();
    }
  }).rejects.toThrow('abort');
  await expect.poll(async () => (await asking.approval(id)).state, { timeout: 10_000 }).toBe('cancelled');
  expect((await asking.decide(id, { decision: 'approve' })).status).toBe(409);
  const [row] = await box.rows<{ state: string }>(
    'select tool_calls.state from tool_calls join approvals on approvals.call_id = tool_calls.id where approvals.id = $1',
    [id],
  );
  expect(row!.state).toBe('cancelled');
});

describe('the tools API', () => {
  const call = (path: string, key?: string) =>
    post(
      box.url,
      '/api/tools/call',
      { name: 'write_file', arguments: { path, content: 'x', append: true }, session_id: 'tools' },
      key === undefined ? {} : { 'idempotency-key': key },
    );
  const approvalOf = ({ body }: { body: unknown }) => (body as { approval: ShownApproval }).approval;

  for (const key of ['write-1', undefined]) {
    verifies('approvals.tools-api', key === undefined ? 'the same call again' : 'the same key again', async () => {
      const path = `t-${key}.txt`;
      const [first, again] = [await call(path, key), await call(path, key)];
      expect([first.status, again.status]).toEqual([202, 202]);
      const { id } = approvalOf(first);
      expect(approvalOf(again).id).toBe(id);
      expect(await asking.fileOf('tools', path)).toBeUndefined();
      await asking.decide(id, { decision: 'approve' });
      const both = await Promise.all([call(path, key), ...(key === undefined ? [] : [call(path, key)])]);
      expect(both.map(({ status }) => status)).toEqual(both.map(() => 200));
      expect(await asking.fileOf('tools', path)).toBe('x');
      const later = await call(path, key);
      expect(later.status).toBe(key === undefined ? 202 : 200);
      expect(await asking.fileOf('tools', path)).toBe('x');
    });
  }

  verifies('approvals.tools-api-alone', 'approved on the other gateway; edited; asked again later', async () => {
    const [plain, edited] = [await call('alone.txt', 'alone-1'), await call('alone.txt', 'alone-2')];
    const args = { path: 'alone-edited.txt', content: 'y', append: true };
    await asking.decide(approvalOf(plain).id, { decision: 'approve' }, box.gateways[1]!.url);
    await asking.decide(approvalOf(edited).id, { decision: 'approve', arguments: args });
    await expect.poll(() => asking.fileOf('tools', 'alone.txt'), { timeout: 10_000 }).toBe('x');
    await expect.poll(() => asking.fileOf('tools', 'alone-edited.txt'), { timeout: 10_000 }).toBe('y');
    const told = [await call('alone.txt', 'alone-1'), await call('alone.txt', 'alone-2')];
    expect(told.map(({ status }) => status)).toEqual([200, 200]);
    expect(await asking.fileOf('tools', 'alone.txt')).toBe('x');
    expect(await asking.fileOf('tools', 'alone-edited.txt')).toBe('y');
  });

  verifies('approvals.tools-api', 'denied', async () => {
    const first = await call('denied.txt', 'write-2');
    await asking.decide(approvalOf(first).id, { decision: 'deny', reason: 'not today' });
    const denied = await call('denied.txt', 'write-2');
    expect(denied).toMatchObject({ status: 422, body: { error: { code: 'approval_denied' } } });
    expect(denied.body.error!.message).toContain('not today');
  });

  verifies('policy.default-explained', 'the tools API, the event of a stream, approval_request', async () => {
    const posting = { name: 'fetch', arguments: { url: 'https://a.example/', method: 'POST' } };
    const reason = expect.stringMatching(
      /`fetch` with method POST .*: - \{ name: allow-fetch, tool: workspace\/fetch, effect: allow \}$/,
    ) as string;
    const reported = { rule: 'default:builtin-open-world', reason };
    const single = await post(box.url, '/api/tools/call', { ...posting, session_id: 'tools' });
    expect([single.status, approvalOf(single)]).toMatchObject([202, reported]);
    asking.follow(rounds({ toolCalls: [{ id: 'call_0', ...posting }] }, { text: 'done' }));
    const request = { messages: [user('Post')], tools: [workspaceTools] };
    const { body } = await post(box.url, '/v1/chat/completions', request);
    expect(JSON.parse(body.choices[0]!.message.tool_calls![0]!.function.arguments)).toMatchObject(reported);
    for await (const chunk of turnEvents(box.url, request)) {
      if (chunk['type'] !== 'approval_required') continue;
      expect(approvalIn(chunk)).toMatchObject(reported);
      await asking.decide(approvalIn(chunk).id, { decision: 'deny' });
    }
    expect.assertions(3);
  });

  test('the catalog says which tools need one', async () => {
    const tool = async (name: string) => (await (await fetch(`${box.url}/api/tools/${name}`)).json()) as JsonObject;
    expect([(await tool('write_file'))['requires_approval'], (await tool('read_file'))['requires_approval']]).toEqual([
      true,
      false,
    ]);
  });
});

verifies('approvals.once', 'fifty decisions at once', async () => {
  asking.follow(writing('once.txt'));
  const first = await post(box.url, '/v1/chat/completions', {
    messages: [user('x')],
    tools: [workspaceTools],
    session_id: 'once',
  });
  const asked = JSON.parse(first.body.choices[0]!.message.tool_calls![0]!.function.arguments) as { id: string };
  const decisions = await Promise.all(
    Array.from({ length: 50 }, (_each, index) =>
      asking.decide(asked.id, { decision: index % 2 === 0 ? 'approve' : 'deny' }, box.gateways[index % 2]!.url),
    ),
  );
  expect(decisions.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(
    decisions
      .map(({ status, body }) => body.error?.code ?? status)
      .filter((each) => each !== 'approval_already_decided'),
  ).toEqual([200]);
  const rows = await box.rows(`select from audit_events where kind = 'approval' and approval_id = $1`, [asked.id]);
  expect(rows).toHaveLength(1);
});

verifies('approvals.webhook', 'after a failure, with a signature that holds', async () => {
  await post(box.url, '/api/tools/call', { name: 'write_file', arguments: { path: 'hook.txt', content: 'x' } });
  const ofHook = () => reported.filter(({ body }) => body.includes('hook.txt'));
  await expect.poll(() => ofHook().length, { timeout: 15_000 }).toBe(2);
  expect(ofHook()[0]!.headers['webhook-id']).toBe(ofHook()[1]!.headers['webhook-id']);
  expect(await metricOf(box.url, 'signalbox_approvals_pending')).toBeGreaterThan(0);
  for (const { headers, body } of reported) {
    const {
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': signed,
    } = headers as Record<string, string>;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    expect(signed).toBe(`v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`);
    const tool = expect.stringMatching(/^(?:write_file|fetch)$/) as string;
    expect(JSON.parse(body)).toMatchObject({ type: 'approval.waiting', data: { id, tool } });
  }
});

verifies('approvals.audited', 'of a call that was edited', async () => {
  const rows = await box.rows<{ kind: string; arguments: string; approver: string; policy_rule: string }>(
    `select kind, arguments, approver, policy_rule from audit_events
     where approval_id = (select id from approvals where edited and session_id = 'held_edited') order by at`,
  );
  expect(rows.map(({ kind }) => kind)).toEqual(['approval', 'tool_call']);
  for (const row of rows) expect(row).toMatchObject({ approver: 'local', policy_rule: 'writes' });
  for (const row of rows) expect(row.arguments).toContain('changed');
});

verifies('approvals.tightened', 'with OpenAI’s require_approval, in its forms', async () => {
  asking.follow(rounds({ toolCalls: [{ name: 'list_directory', arguments: {} }] }, { text: 'listed' }));
  const ask = async (require_approval: unknown) => {
    const tools = [{ type: 'mcp', server_label: 'workspace', require_approval }];
    const { body } = await post(box.url, '/v1/chat/completions', { messages: [user('x')], tools });
    return body.choices[0]!.finish_reason;
  };
  expect(await ask('never')).toBe('stop');
  expect(await ask('always')).toBe('tool_calls');
  expect(await ask({ always: { tool_names: ['list_directory'] } })).toBe('tool_calls');
  expect(await ask({ always: { tool_names: ['write_file'] } })).toBe('stop');
  expect(await ask({ never: { read_only: true } })).toBe('stop');
  expect(await ask({ never: { tool_names: ['write_file'] } })).toBe('tool_calls');
});
