// Calls on /mcp that need an approval, decided by the official clients when asked, or by others.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { Wait } from '#libs/waits/wait.js';
import { ApprovalNeeded } from '../../apps/gateway/govern/approval-needed.js';
import {
  type Answers,
  type Asked,
  askedBridges,
  type AskedCaller,
  askedClients,
  comesBack,
} from '../support/asking-clients.js';
import { type CallResult, mcpClients } from '../support/mcp-clients.js';
import { type OpenMcpServer, openMcpServer } from '../support/open-mcp-server.js';
import { queuePathOfFile, requestContext } from '../support/queue-path.js';
import { rawRequest } from '../support/raw-request.js';
import { verifies } from '../verifies.js';

const rules = [
  { name: 'effects', tool: 'workspace/append', effect: 'require_approval', reason: 'Has an effect' },
  { name: 'noise', tool: 'workspace/large', effect: 'require_approval' },
];
const path = queuePathOfFile({}, JSON.stringify({ policy: { rules } }));
let server: OpenMcpServer;

beforeAll(async () => {
  server = await openMcpServer(path.services, path.gateway);
  await vi.waitUntil(() => path.gateway.catalog.find('append') !== undefined, { timeout: 15_000 });
});
afterAll(() => server?.close());

const approve = { action: 'accept', content: { decision: 'approve' } } as const;
const append = (text: string) => ({ name: 'append', arguments: { text } });
const textOf = ({ content }: CallResult) => (content as { text: string }[])[0]!.text;
const codeOf = ({ _meta }: CallResult) => _meta?.['signalbox/error_code'];
const runs = (text: string) => path.worker.probe.effects.filter((each) => each === text).length;

/** The newest approval. */
async function lastApproval(): Promise<Wait> {
  const [last] = await path.gateway.approvals.list({ limit: 1 }, requestContext());
  return last!;
}

type Connect = (typeof askedClients)[keyof typeof askedClients];

async function asked(connect: Connect, answers: Answers, body: (client: AskedCaller) => Promise<void>): Promise<void> {
  const client = await connect(server.url, answers);
  try {
    await body(client);
  } finally {
    await client.close();
  }
}

for (const [name, connect] of Object.entries({ ...askedClients, ...askedBridges })) {
  verifies('mcp.approvals', `${name}: approved`, async () => {
    const questions: Asked[] = [];
    const answers: Answers = (question) => {
      questions.push(question);
      return approve;
    };
    await asked(connect, answers, async (client) => {
      const text = `${name} token=abcdefgh123`;
      const result = await client.call(append(text));
      expect([textOf(result), runs(text)]).toEqual(['appended', 1]);
      expect(questions).toHaveLength(1);
      expect(questions[0]!.message).toBe(
        `Allow the call of 'append'?\nThe rule 'effects' asks: Has an effect\nArguments: {"text":"${name} token=[redacted]"}`,
      );
      expect(questions[0]!.requestedSchema).toMatchObject({ required: ['decision'] });
      expect(await lastApproval()).toMatchObject({
        callId: result._meta!['signalbox/call_id'],
        state: 'approved',
        decidedBy: 'local',
      });
    });
  });
}

for (const [name, connect] of Object.entries(askedClients)) {
  verifies('mcp.approvals', `${name}: denied, and declined`, async () => {
    const answers = [
      { action: 'accept', content: { decision: 'deny', reason: 'not now' } },
      { action: 'decline' },
    ] as const;
    for (const answer of answers) {
      await asked(
        connect,
        () => answer,
        async (client) => {
          const text = `${name} ${answer.action}`;
          const result = await client.call(append(text));
          expect([result.isError, codeOf(result), runs(text)]).toEqual([true, 'approval_denied', 0]);
          expect(textOf(result)).toBe(
            `The call of 'append' was refused${answer.action === 'accept' ? ': not now' : ''}`,
          );
        },
      );
    }
  });

  verifies('mcp.approvals', `${name}: cancelled, then the same call again`, async () => {
    const text = `${name} later`;
    let waiting: Wait;
    await asked(
      connect,
      () => ({ action: 'cancel' }),
      async (client) => {
        const _meta = { 'signalbox/session_id': 'sess_later' };
        const result = await client.call({ ...append(text), _meta });
        waiting = await lastApproval();
        expect([codeOf(result), runs(text), waiting.state]).toEqual(['approval_required', 0, 'waiting']);
        expect(textOf(result)).toContain(`POST /api/approvals/${waiting.id}`);
        expect(textOf(result)).toMatch(/The rule 'effects' asks: Has an effect$/);
      },
    );
    await asked(
      connect,
      () => approve,
      async (client) => {
        const _meta = { 'signalbox/session_id': 'sess_later' };
        const result = await client.call({ ...append(text), _meta });
        expect([textOf(result), runs(text)]).toEqual(['appended', 1]);
        expect(result._meta!['signalbox/call_id']).toBe(waiting.callId);
      },
    );
  });

  verifies('mcp.approvals-elsewhere', `${name}: approved, denied, and no time left`, async () => {
    const elsewhere = {
      approved: (id: string) => path.gateway.approvals.decide(id, { decision: 'approve' }, requestContext()),
      denied: (id: string) => path.gateway.approvals.decide(id, { decision: 'deny' }, requestContext()),
      expired: (id: string) => path.services.rows('update approvals set expires_at = created_at where id = $1', [id]),
    };
    for (const [how, settle] of Object.entries(elsewhere)) {
      // The client's own answer would differ, and arrives too late.
      let takenBack = false;
      const late: Answers = async (_question, signal) => {
        const taken = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })).then(
          () => (takenBack = true),
        );
        await settle((await lastApproval()).id);
        if (!comesBack(name)) await taken;
        return how === 'approved' ? { action: 'decline' } : approve;
      };
      await asked(connect, late, async (client) => {
        const text = `${name} ${how}`;
        const result = await client.call(append(text));
        const ran = how === 'approved';
        expect([codeOf(result), runs(text)]).toEqual([ran ? undefined : `approval_${how}`, ran ? 1 : 0]);
        if (!comesBack(name)) await expect.poll(() => takenBack).toBe(true);
      });
    }
  });

  // Nothing waits here for a client that repeats its call.
  if (comesBack(name)) continue;

  verifies('mcp.approvals', `${name}: gone while it was asked`, async () => {
    const text = `${name} gone`;
    const gone = new AbortController();
    const never: Answers = () => {
      gone.abort();
      return new Promise(() => undefined);
    };
    await asked(connect, never, async (client) => {
      await expect(client.call(append(text), { signal: gone.signal })).rejects.toThrow();
    });
    const { id, state } = await lastApproval();
    expect([state, runs(text)]).toEqual(['waiting', 0]);
    await path.gateway.approvals.decide(id, { decision: 'deny' }, requestContext());
  });
}

verifies('mcp.approvals', 'a client that cannot be asked: no capability, no stream, no form', async () => {
  for (const connect of Object.values(mcpClients)) {
    const client = await connect(server.url);
    const result = await client.call(append('not asked'));
    expect([codeOf(result), runs('not asked')]).toEqual(['approval_required', 0]);
    expect(textOf(result)).toContain('POST /api/approvals/appr_');
    await client.close();
  }
  // With forms but without a stream; with a stream but without forms.
  const declared = [
    [{ form: {} }, 'application/json'],
    [{ url: {} }, 'application/json, text/event-stream'],
  ] as const;
  for (const [elicitation, accept] of declared) {
    const clientInfo = { name: 'by hand', version: '1' };
    const greeting = { protocolVersion: '2025-11-25', capabilities: { elicitation }, clientInfo };
    const { headers } = await post('initialize', greeting);
    const session = { 'mcp-session-id': String(headers['mcp-session-id']) };
    const { text } = await post('tools/call', append('not asked'), { ...session, accept });
    expect(text).toContain('POST /api/approvals/appr_');
  }
});

verifies('mcp.approvals', 'long arguments are shown in part', async () => {
  let message = '';
  const client = await askedClients['the 2.x client, as before 2026'](server.url, (question) => {
    ({ message } = question);
    return { action: 'decline' };
  });
  await client.call(append('😀'.repeat(1_500)));
  await client.close();
  expect(message).toMatch(
    /^.*\n.*\nArguments: \{"text":"(😀)+… \(3011 characters; full text: GET \/api\/approvals\/appr_\w+\)$/u,
  );
  expect(message.length).toBeLessThan(2_200);
});

const post = (method: string, params: object, headers: Record<string, string> = {}) =>
  rawRequest(server.url, { path: '/mcp', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });

interface Round {
  result: CallResult & { resultType: string; inputRequests?: Record<string, object>; requestState?: string };
  error?: object;
}

/** One round of a 2026-07-28 client, written by hand. */
async function round(params: { name: string; arguments: object; [name: string]: unknown }): Promise<Round> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'by hand', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    ...(params['_meta'] as object | undefined),
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': params.name };
  const answer = await post('tools/call', { ...params, _meta }, headers);
  return JSON.parse(answer.text) as Round;
}

verifies('mcp.approvals-checked', 'a requestState that was tampered with, and of other calls', async () => {
  const { result } = await round(append('checked'));
  const id = result.requestState!;
  expect(result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { [id]: { method: 'elicitation/create' } },
  });
  const retry = { requestState: id, inputResponses: { [id]: approve } };
  const foreign: unknown = await path.gateway.calls
    .prepare(
      { name: 'append', argumentsText: '{"text":"checked"}', sessionId: 'mcp_default' },
      requestContext({ principal: 'mallory' }),
    )
    .catch((error: unknown) => error);
  const theirs = (foreign as ApprovalNeeded).approval.id;
  const refused = [
    { ...append('checked'), ...retry, requestState: `${id}-x` },
    { ...append('checked'), requestState: theirs, inputResponses: { [theirs]: approve } },
    { ...append('something else'), ...retry },
    { name: 'large', arguments: { bytes: 1 }, ...retry },
    { ...append('checked'), ...retry, _meta: { 'signalbox/session_id': 'sess_other' } },
  ];
  for (const params of refused) {
    expect((await round(params)).error).toMatchObject({ code: -32_602, data: { code: 'approval_not_found' } });
  }
  expect((await round({ ...append('checked'), ...retry, requestState: 5 })).error).toMatchObject({ code: -32_602 });
  expect(
    await path.services.rows('select from approvals where id = any($1) and state = $2', [[id, theirs], 'waiting']),
  ).toHaveLength(2);
  // Without the requested answer, the question is repeated.
  expect(
    (await round({ ...append('checked'), requestState: id, inputResponses: { other: approve } })).result,
  ).toMatchObject({
    resultType: 'input_required',
    requestState: id,
  });
  const odd = { action: 'accept', content: { decision: 'perhaps' } };
  const undecided = (await round({ ...append('checked'), requestState: id, inputResponses: { [id]: odd } })).result;
  expect([codeOf(undecided), runs('checked')]).toEqual(['approval_required', 0]);
});

verifies('mcp.approvals-checked', 'an answer that is sent again: the call runs once, a denial stays one', async () => {
  const ask = async (text: string, answer: object) => {
    const id = (await round(append(text))).result.requestState!;
    const again = { ...append(text), requestState: id, inputResponses: { [id]: answer } };
    const results = await Promise.all([round(again), round(again)]);
    // Repeated later, once with a different answer.
    results.push(await round(again), await round({ ...again, inputResponses: { [id]: approve } }));
    return results.map(({ result }) => result);
  };
  const approved = await ask('once', approve);
  expect([new Set(approved.map(({ _meta }) => _meta!['signalbox/call_id'])).size, runs('once')]).toEqual([1, 1]);
  expect(approved.map(textOf)).toEqual(Array(4).fill('appended'));
  const denied = await ask('never', { action: 'decline' });
  expect(denied.map(codeOf)).toEqual(Array(4).fill('approval_denied'));
  expect(runs('never')).toBe(0);
});
