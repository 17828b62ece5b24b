// Calls that wait for an approval, asked for and decided as users do: by the OpenAI SDK, by streams that hold, by the API.
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import OpenAI7 from 'openai-7';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Script } from '#libs/testing/scripted-upstream.js';
import { type Signalbox, startSignalbox } from '#libs/testing/services/start-signalbox.js';
import { eventsOf } from '../support/events-client.js';
import { functionTool, messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-approvals-'));
const secret = 'whsec_c2lnbmFsYm94LXRlc3Q=';
const told: { headers: IncomingHttpHeaders; body: string }[] = [];
/** How often the webhook fails for this file. */
let failures = 1;
const hook = createServer((request, reply) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    told.push({ headers: request.headers, body });
    const fails = body.includes('hook.txt') && failures-- > 0;
    reply.writeHead(fails ? 500 : 204).end();
  });
});
let script: Script;
let box: Signalbox;

beforeAll(async () => {
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const { port } = hook.address() as AddressInfo;
  writeFileSync(
    join(directory, 'signalbox.yaml'),
    JSON.stringify({
      policy: {
        rules: [
          {
            name: 'never',
            tool: 'workspace/write_file',
            arguments: [{ path: '$.path', prefix: 'etc/' }],
            effect: 'deny',
          },
          { name: 'writes', tool: 'workspace/write_file', effect: 'require_approval', reason: 'Writes a file' },
        ],
      },
      approvals: { webhook: { url: `http://127.0.0.1:${port}/hook`, secret: '${HOOK_SECRET}' } },
    }),
  );
  box = await startSignalbox({
    gateways: 2,
    environment: { SIGNALBOX_CONFIG: join(directory, 'signalbox.yaml'), HOOK_SECRET: secret },
    script: (request, number) => {
      if (typeof script !== 'function') throw new Error('scripts of this file are functions');
      return script(request, number);
    },
  });
}, 60_000);
afterAll(async () => {
  await box?.close();
  hook.close();
  rmSync(directory, { recursive: true });
});

interface Shown extends JsonObject {
  id: string;
  state: string;
  tool_call_id: string;
  arguments: JsonObject;
}

const write = (path: string, content: string) => ({ id: 'call_0', name: 'write_file', arguments: { path, content } });
/** Asks for one write, then says what became of it. */
const writing = (path: string, content = 'one') =>
  rounds({ text: 'I will write. ', toolCalls: [write(path, content)] }, (request) => ({
    text: `Result: ${messagesOf(request).at(-1)!['content'] as string}`,
  }));
const fileOf = async (session: string, path: string, url = box.url) => {
  const answer = await fetch(`${url}/api/sessions/${session}/files/${path}`);
  return answer.status === 200 ? answer.text() : undefined;
};
const approval = async (id: string, url = box.url) =>
  (await (await fetch(`${url}/api/approvals/${id}`)).json()) as Shown;
const decide = async (id: string, body: object, url = box.url) => {
  const answer = await fetch(`${url}/api/approvals/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: answer.status,
    body: (await answer.json()) as Shown & { error?: { code: string; message: string } },
  };
};
const user = (content: string) => ({ role: 'user' as const, content });
const answerTo = (id: string, content: object | string) => ({
  role: 'tool' as const,
  tool_call_id: id,
  content: typeof content === 'string' ? content : JSON.stringify(content),
});

interface Asked {
  id: string;
  name: string;
  arguments: { id: string; tool: string; arguments: JsonObject; reason?: string };
}

for (const [version, Client] of Object.entries({ 6: OpenAI, 7: OpenAI7 as unknown as typeof OpenAI })) {
  describe(`the openai SDK ${version}`, () => {
    const client = () => new Client({ baseURL: `${box.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const session = (name: string) => `${name}_${version}`;

    /** One turn; streamed or not. */
    async function turn(messages: OpenAI.ChatCompletionMessageParam[], session_id: string, stream: boolean) {
      const request = { model: 'scripted/model', messages, tools: [workspaceTools] as never, session_id };
      const message = stream
        ? (
            await client()
              .chat.completions.stream({ ...request })
              .finalChatCompletion()
          ).choices[0]!
        : (await client().chat.completions.create(request)).choices[0]!;
      const calls = (message.message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
      const asked = calls.map((call): Asked => ({
        id: call.id,
        name: call.function.name,
        arguments: JSON.parse(call.function.arguments) as Asked['arguments'],
      }));
      return { finish: message.finish_reason, said: message.message, asked };
    }

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'as one body';

      verifies('approvals.returned', `approves, ${how}`, async () => {
        script = writing('a.txt');
        const name = session(`approve_${stream}`);
        const first = await turn([user('Write')], name, stream);
        expect(first.finish).toBe('tool_calls');
        expect(first.asked).toMatchObject([
          {
            name: 'approval_request',
            arguments: { tool: 'write_file', arguments: { path: 'a.txt', content: 'one' }, reason: 'Writes a file' },
          },
        ]);
        expect(await fileOf(name, 'a.txt')).toBeUndefined();
        const [asked] = first.asked;
        expect(await approval(asked!.arguments.id)).toMatchObject({ state: 'waiting', tool: 'write_file' });
        const second = await turn(
          [user('Write'), first.said, answerTo(asked!.id, { decision: 'approve' })],
          name,
          stream,
        );
        expect(second).toMatchObject({ finish: 'stop', asked: [] });
        expect(second.said.content).toContain('a.txt');
        expect(await fileOf(name, 'a.txt')).toBe('one');
        expect(await approval(asked!.arguments.id)).toMatchObject({ state: 'approved', decided_by: 'local' });
        const seen = JSON.stringify(box.upstream.requests.at(-1)!.body);
        expect(seen).not.toContain('approval_request');
      });

      verifies('approvals.returned', `denies with a reason, ${how}`, async () => {
        script = writing('b.txt');
        const name = session(`deny_${stream}`);
        const first = await turn([user('Write')], name, stream);
        const answer = answerTo(first.asked[0]!.id, { decision: 'deny', reason: '不行，请不要写文件' });
        const second = await turn([user('Write'), first.said, answer], name, stream);
        expect(second.finish).toBe('stop');
        expect(second.said.content).toContain('不行，请不要写文件');
        expect(await fileOf(name, 'b.txt')).toBeUndefined();
      });

      verifies('approvals.edited', `edits, ${how}`, async () => {
        script = writing('c.txt');
        const name = session(`edit_${stream}`);
        const first = await turn([user('Write')], name, stream);
        const id = first.asked[0]!.id;
        const wrong = { decision: 'approve', arguments: { path: 5 } };
        await expect(turn([user('Write'), first.said, answerTo(id, wrong)], name, stream)).rejects.toMatchObject({
          status: 400,
        });
        const denied = { decision: 'approve', arguments: { path: 'etc/passwd', content: 'x' } };
        await expect(turn([user('Write'), first.said, answerTo(id, denied)], name, stream)).rejects.toMatchObject({
          code: 'tool_denied',
        });
        const edited = { decision: 'approve', arguments: { path: 'd.txt', content: 'zwei' } };
        const second = await turn([user('Write'), first.said, answerTo(id, edited)], name, stream);
        expect(second.finish).toBe('stop');
        expect([await fileOf(name, 'c.txt'), await fileOf(name, 'd.txt')]).toEqual([undefined, 'zwei']);
        const now = await approval(first.asked[0]!.arguments.id);
        expect(now).toMatchObject({ state: 'approved', edited: true, arguments: { path: 'd.txt' } });
      });
    }

    verifies('approvals.undecided', 'an agent loop that answers every function', async () => {
      script = writing('loop.txt');
      const name = session('loop');
      const messages: OpenAI.ChatCompletionMessageParam[] = [user('Write')];
      const ids = new Set<string>();
      for (let asked = 0; asked < 4; asked += 1) {
        const { said, asked: requests, finish } = await turn(messages, name, false);
        expect(finish).toBe('tool_calls');
        ids.add(requests[0]!.arguments.id);
        messages.push(said, answerTo(requests[0]!.id, 'Invalid tool_call: approval_request'));
      }
      expect(ids.size).toBe(1);
      await expect(turn(messages, name, false)).rejects.toMatchObject({ status: 400, param: 'messages' });
      expect(await approval([...ids][0]!)).toMatchObject({ state: 'waiting' });
      messages.push(
        ...messages.slice(1, 2),
        answerTo((messages[2] as { tool_call_id: string }).tool_call_id, { decision: 'approve' }),
      );
      const last = await turn(messages, name, false);
      expect(last.finish).toBe('stop');
      expect(await fileOf(name, 'loop.txt')).toBe('one');
    });

    verifies('approvals.stored-call', 'arguments that the caller changed in its copy, sent twice at once', async () => {
      script = rounds(
        { toolCalls: [{ ...write('log.txt', 'x'), arguments: { path: 'log.txt', content: 'x', append: true } }] },
        {
          text: 'done',
        },
      );
      const name = session('tampered');
      const first = await turn([user('Write')], name, false);
      const copy = structuredClone(first.said) as { tool_calls: { function: { arguments: string } }[] };
      copy.tool_calls[0]!.function.arguments = copy.tool_calls[0]!.function.arguments.replaceAll('log.txt', 'evil.txt');
      const messages = [user('Write'), copy as never, answerTo(first.asked[0]!.id, { decision: 'approve' })];
      const both = await Promise.all([turn(messages, name, false), turn(messages, name, true)]);
      expect(both.map(({ finish }) => finish)).toEqual(['stop', 'stop']);
      // And once more, as a client that lost the answer does.
      expect((await turn(messages, name, false)).finish).toBe('stop');
      expect(await fileOf(name, 'log.txt')).toBe('x');
      expect(await fileOf(name, 'evil.txt')).toBeUndefined();
    });
  });
}

verifies(
  'approvals.returned',
  'a round with a call that is allowed, one that waits, and one of the caller',
  async () => {
    script = rounds(
      {
        toolCalls: [
          { id: 'a', name: 'list_directory', arguments: {} },
          { id: 'b', name: 'write_file', arguments: { path: 'm.txt', content: 'mixed' } },
          { id: 'c', name: 'ask_person', arguments: { q: 'name?' } },
        ],
      },
      (request) => ({
        text: messagesOf(request)
          .slice(-3)
          .map((message) => message['content'] as string)
          .join(' | '),
      }),
    );
    const request = { tools: [workspaceTools, functionTool('ask_person')], session_id: 'mixed' };
    const first = await post(box.url, '/v1/chat/completions', { ...request, messages: [user('x')] });
    const { message } = first.body.choices[0]!;
    const calls = message.tool_calls!;
    expect(calls.map((call) => call.function.name)).toEqual(['ask_person', 'approval_request']);
    expect(first.body.tool_execution).toMatchObject({ tools_called: ['list_directory'] });
    const messages = [
      user('x'),
      message,
      answerTo(calls[0]!.id, 'Ada'),
      answerTo(calls[1]!.id, { decision: 'approve' }),
    ];
    const second = await post(box.url, '/v1/chat/completions', { ...request, messages });
    expect(second.body.choices[0]!.message.content).toMatch(/ \| .*m\.txt.* \| Ada$/);
    expect(second.body.tool_execution).toMatchObject({ tools_called: ['write_file'] });
    expect(await fileOf('mixed', 'm.txt')).toBe('mixed');
  },
);

const approvalIn = (chunk: JsonObject): Shown => chunk['approval'] as Shown;

for (const [name, decision, file] of [
  ['approved', { decision: 'approve' }, 'one'],
  ['edited', { decision: 'approve', arguments: { path: 'h.txt', content: 'changed' } }, 'changed'],
  ['denied', { decision: 'deny', reason: 'no' }, undefined],
] as const) {
  verifies('approvals.held', `${name} on the other gateway`, async () => {
    script = writing('h.txt');
    const other = box.gateways[1]!.url;
    const types: unknown[] = [];
    let text = '';
    for await (const chunk of eventsOf(box.url, { messages: [user('Write')], session_id: `held_${name}` })) {
      types.push(chunk['type']);
      if (chunk['type'] === 'content') text += String((chunk['delta'] as { content?: string }).content);
      if (chunk['type'] !== 'approval_required') continue;
      const { id } = approvalIn(chunk);
      expect(await metricOf(other, 'signalbox_approvals_pending')).toBeGreaterThan(0);
      const waiting = (await (await fetch(`${other}/api/approvals?state=waiting`)).json()) as { data: Shown[] };
      expect(waiting.data.map((each) => each.id)).toContain(id);
      expect((await decide(id, decision, other)).status).toBe(200);
      expect(await decide(id, { decision: 'deny' }, box.url)).toMatchObject({
        status: 409,
        body: { error: { code: 'approval_already_decided' } },
      });
    }
    expect(types).toContain('tool_result');
    expect(types.at(-1)).toBe('done');
    expect(text).toContain(name === 'denied' ? 'was refused: no' : 'h.txt');
    expect(await fileOf(`held_${name}`, 'h.txt')).toBe(file);
  });
}

verifies('approvals.left', 'a held stream that is closed', async () => {
  script = writing('left.txt');
  const leave = new AbortController();
  let id = '';
  await expect(async () => {
    for await (const chunk of eventsOf(
      box.url,
      { messages: [user('Write')], session_id: 'left' },
      { signal: leave.signal },
    )) {
      if (chunk['type'] !== 'approval_required') continue;
      ({ id } = approvalIn(chunk));
      leave.abort();
    }
  }).rejects.toThrow('abort');
  await expect.poll(async () => (await approval(id)).state, { timeout: 10_000 }).toBe('cancelled');
  expect((await decide(id, { decision: 'approve' })).status).toBe(409);
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
  const approvalOf = ({ body }: { body: unknown }) => (body as { approval: Shown }).approval;

  for (const key of ['write-1', undefined]) {
    verifies('approvals.tools-api', key === undefined ? 'the same call again' : 'the same key again', async () => {
      const path = `t-${key}.txt`;
      const [first, again] = [await call(path, key), await call(path, key)];
      expect([first.status, again.status]).toEqual([202, 202]);
      const { id } = approvalOf(first);
      expect(approvalOf(again).id).toBe(id);
      expect(await fileOf('tools', path)).toBeUndefined();
      await decide(id, { decision: 'approve' });
      const both = await Promise.all([call(path, key), ...(key === undefined ? [] : [call(path, key)])]);
      expect(both.map(({ status }) => status)).toEqual(both.map(() => 200));
      expect(await fileOf('tools', path)).toBe('x');
      const later = await call(path, key);
      expect(later.status).toBe(key === undefined ? 202 : 200);
      expect(await fileOf('tools', path)).toBe('x');
    });
  }

  verifies('approvals.tools-api', 'denied', async () => {
    const first = await call('denied.txt', 'write-2');
    await decide(approvalOf(first).id, { decision: 'deny', reason: 'not today' });
    const denied = await call('denied.txt', 'write-2');
    expect(denied).toMatchObject({ status: 422, body: { error: { code: 'approval_denied' } } });
    expect(denied.body.error!.message).toContain('not today');
  });

  test('the catalog says which tools need one', async () => {
    const tool = async (name: string) => (await (await fetch(`${box.url}/api/tools/${name}`)).json()) as JsonObject;
    expect([(await tool('write_file'))['requires_approval'], (await tool('read_file'))['requires_approval']]).toEqual([
      true,
      false,
    ]);
  });
});

verifies('approvals.once', 'two hundred decisions at once', async () => {
  script = writing('once.txt');
  const first = await post(box.url, '/v1/chat/completions', {
    messages: [user('x')],
    tools: [workspaceTools],
    session_id: 'once',
  });
  const asked = JSON.parse(first.body.choices[0]!.message.tool_calls![0]!.function.arguments) as { id: string };
  const decisions = await Promise.all(
    Array.from({ length: 200 }, (_each, index) =>
      decide(asked.id, { decision: index % 2 === 0 ? 'approve' : 'deny' }, box.gateways[index % 2]!.url),
    ),
  );
  expect(decisions.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(decisions.filter(({ status }) => status === 409)).toHaveLength(199);
  const rows = await box.rows(`select from audit_events where kind = 'approval' and approval_id = $1`, [asked.id]);
  expect(rows).toHaveLength(1);
});

verifies('approvals.webhook', 'after a failure, with a signature that holds', async () => {
  await post(box.url, '/api/tools/call', { name: 'write_file', arguments: { path: 'hook.txt', content: 'x' } });
  const ofHook = () => told.filter(({ body }) => body.includes('hook.txt'));
  await expect.poll(() => ofHook().length, { timeout: 15_000 }).toBe(2);
  expect(ofHook()[0]!.headers['webhook-id']).toBe(ofHook()[1]!.headers['webhook-id']);
  expect(await metricOf(box.url, 'signalbox_approvals_pending')).toBeGreaterThan(0);
  for (const { headers, body } of told) {
    const {
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': signed,
    } = headers as Record<string, string>;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    expect(signed).toBe(`v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`);
    expect(JSON.parse(body)).toMatchObject({ type: 'approval.waiting', data: { id, tool: 'write_file' } });
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
  script = rounds({ toolCalls: [{ name: 'list_directory', arguments: {} }] }, { text: 'listed' });
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
