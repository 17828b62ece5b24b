// The client library of clients/typescript against real gateways: streams that break off, approvals, sessions, files, tools.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { toolsReady } from '../support/services/start-signalbox.js';
import {
  approvalRequests,
  type ChatEvent,
  decisionMessage,
  type Message,
  Signalbox,
  SignalboxError,
} from '../../clients/typescript/src/index.js';
import { startSignalbox } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { type FaultProxy, openFaultProxy } from '../contract/fault-proxy.js';
import { startAskingSignalbox, user, writing } from '../support/approvals-client.js';
import { abortAtText, fetchWhole, heldAnswer, numbersOf, textOf, withoutWithdrawn } from '../support/client-streams.js';
import { rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let asking: Awaited<ReturnType<typeof startAskingSignalbox<StartedProcess>>>;
/** What stands between the clients and the gateway. */
let network: FaultProxy;
const target = { host: '127.0.0.1', port: 0 };
let client: Signalbox;
let direct: Signalbox;
const tools = [workspaceTools as { type: 'mcp'; server_label: string }];

beforeAll(async () => {
  asking = await startAskingSignalbox(startSignalbox);
  target.port = Number(new URL(asking.url()).port);
  network = await openFaultProxy(target);
  client = new Signalbox({ baseUrl: `http://127.0.0.1:${network.port}/` });
  direct = new Signalbox({ baseUrl: asking.url() });
}, 60_000);
afterAll(async () => {
  await network?.close();
  await asking?.close();
});

describe('a stream', () => {
  verifies('client.resume', 'its connection is cut in the middle of the answer', async () => {
    const { answer, release } = heldAnswer('你好，', '世界！');
    asking.follow(() => answer);
    const asked = asking.box.upstream.requests.length;
    const events: ChatEvent[] = [];
    const stream = client.stream({ messages: [user('问候')] });
    for await (const event of stream) {
      events.push(event);
      if (event.type !== 'content' || event.delta.content !== '你好，') continue;
      network.cut();
      release();
    }
    expect(textOf(events)).toBe('你好，世界！');
    expect(numbersOf(events)).toEqual(events.map((_event, at) => at + 1));
    expect(events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });
    expect((await stream.completion()).choices[0]!.message.content).toBe('你好，世界！');
    expect(asking.box.upstream.requests.length - asked).toBe(1);
  });

  verifies('client.resume', 'it is cut while a tool’s call waits, and again after each event', async () => {
    asking.follow(writing('cut.txt'));
    const events: ChatEvent[] = [];
    for await (const event of client.stream({ messages: [user('Write')], tools, session_id: 'client_cut' })) {
      events.push(event);
      network.cut();
      if (event.type === 'approval_required') await direct.approvals.decide(event.approval.id, { decision: 'approve' });
    }
    expect(numbersOf(events)).toEqual(events.map((_event, at) => at + 1));
    expect(events.filter(({ type }) => type === 'tool_result')).toHaveLength(1);
    expect(await asking.fileOf('client_cut', 'cut.txt')).toBe('one');
  });

  verifies('client.resume', 'nobody answers for a while', async () => {
    asking.follow(() => ({ text: 'there' }));
    network.refuse();
    const answered = client.stream({ messages: [user('x')] }).completion();
    await expect.poll(() => network.asked, { timeout: 10_000 }).toBeGreaterThan(0);
    const before = network.asked;
    await expect.poll(() => network.asked, { timeout: 10_000 }).toBeGreaterThan(before);
    network.restore();
    expect((await answered).choices[0]!.message.content).toBe('there');
  });

  verifies('client.gives-up', 'after its attempts', async () => {
    network.refuse();
    const hasty = new Signalbox({ baseUrl: `http://127.0.0.1:${network.port}`, maxRetries: 1 });
    const before = network.asked;
    await expect(hasty.stream({ messages: [user('x')] }).completion()).rejects.toMatchObject({
      name: 'SignalboxError',
      code: 'connection_failed',
    });
    await expect(hasty.models()).rejects.toMatchObject({ code: 'connection_failed' });
    expect(network.asked - before).toBe(4);
    network.restore();
  });

  verifies('client.gives-up', 'at once if it should not be resumed', async () => {
    const { answer, release } = heldAnswer('one', 'two');
    asking.follow(() => answer);
    const stream = client.stream({ messages: [user('x')] }, { resume: false });
    await expect(async () => {
      for await (const event of stream) if (event.type === 'content') network.cut();
    }).rejects.toMatchObject({ code: 'connection_failed' });
    release();
    await expect(direct.runs.get(stream.runId!)).rejects.toMatchObject({ code: 'run_not_found', status: 404 });
  });

  verifies('client.idle', 'a silent connection is replaced', async () => {
    const { answer, release } = heldAnswer('before, ', 'after');
    asking.follow(() => answer);
    const watchful = new Signalbox({ baseUrl: `http://127.0.0.1:${network.port}`, idleTimeoutMs: 1_000 });
    const events: ChatEvent[] = [];
    for await (const event of watchful.stream({ messages: [user('x')] })) {
      events.push(event);
      if (event.type !== 'content' || event.delta.content !== 'before, ') continue;
      network.freeze();
      release();
    }
    expect(textOf(events)).toBe('before, after');
  });
});

describe('a reader that leaves', () => {
  const stateOf = (runId: string) => async () => (await direct.runs.get(runId)).state;

  verifies('client.abort', 'by its signal, in the middle', async () => {
    const { answer } = heldAnswer('one', 'two');
    asking.follow(() => answer);
    await expect.poll(stateOf(await abortAtText(client)), { timeout: 10_000 }).toBe('cancelled');
  });

  verifies('client.abort', 'by its signal, after the whole answer has arrived in one piece', async () => {
    const { answer, release } = heldAnswer('one', 'two');
    release();
    asking.follow(() => answer);
    await abortAtText(new Signalbox({ baseUrl: asking.url(), fetch: fetchWhole }));
  });

  verifies('client.abort', 'by its signal, before the first event', async () => {
    let release = () => undefined as void;
    const before = new Promise<void>((resolve) => (release = () => resolve()));
    asking.follow(() => ({ before, ...heldAnswer('late', '').answer }));
    const asked = asking.box.upstream.requests.length;
    const controller = new AbortController();
    const stream = client.stream({ messages: [user('x')] }, { signal: controller.signal });
    const read = stream.completion();
    await asking.box.upstream.received(asked + 1);
    controller.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
    release();
    await expect.poll(() => stream.runId, { timeout: 10_000 }).toBeDefined();
    await expect.poll(stateOf(stream.runId!), { timeout: 10_000 }).toBe('cancelled');
  });

  verifies('client.abort', 'by leaving the loop; with detach the turn goes on', async () => {
    for (const [detach, state] of [
      [{}, 'cancelled'],
      [{ on_disconnect: 'detach' as const }, 'done'],
    ] as const) {
      const { answer, release } = heldAnswer('one', 'two');
      asking.follow(() => answer);
      const stream = client.stream({ messages: [user('x')], ...detach });
      for await (const event of stream) if (event.type === 'content') break;
      if (state === 'done') release();
      await expect.poll(stateOf(stream.runId!), { timeout: 10_000 }).toBe(state);
      if (state === 'done') {
        const again = direct.runs.events(stream.runId!);
        expect((await again.completion()).choices[0]!.message.content).toBe('onetwo');
      }
    }
  });

  verifies('client.abort', 'a call, and one whose time is over', async () => {
    network.silence();
    await expect(client.models({ signal: AbortSignal.timeout(100) })).rejects.toThrow(/timeout/i);
    await expect(client.models({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' });
    network.restore();
  });
});

describe('approvals', () => {
  verifies('client.approvals', 'a held stream', async () => {
    asking.follow(writing('held.txt'));
    const stream = client.stream({ messages: [user('Write')], tools, session_id: 'client_held' });
    for await (const event of stream) {
      if (event.type !== 'approval_required') continue;
      expect(event.approval).toMatchObject({ tool: 'write_file', reason: 'Writes a file' });
      const { data } = await client.approvals.list({ state: 'waiting' });
      expect(data.map(({ id }) => id)).toContain(event.approval.id);
      const edited = { path: 'held.txt', content: '已修改' };
      const decided = await client.approvals.decide(event.approval.id, { decision: 'approve', arguments: edited });
      expect(decided).toMatchObject({ state: 'approved', edited: true });
    }
    expect((await stream.completion()).tool_execution?.tools_called).toEqual(['write_file']);
    expect(await asking.fileOf('client_held', 'held.txt')).toBe('已修改');
  });

  for (const decision of ['approve', 'deny'] as const) {
    verifies('client.approvals', `returned, ${decision}`, async () => {
      asking.follow(writing('returned.txt'));
      const session_id = `client_returned_${decision}`;
      const messages: Message[] = [user('Write')];
      const asked = await client.chat({ messages, tools, session_id });
      const requests = approvalRequests(asked);
      expect(requests).toMatchObject([{ tool: 'write_file', arguments: { path: 'returned.txt' } }]);
      messages.push(asked.choices[0]!.message, ...requests.map((each) => decisionMessage(each, { decision })));
      const answer = await client.chat({ messages, tools, session_id });
      expect(approvalRequests(answer)).toEqual([]);
      expect(answer.choices[0]!.finish_reason).toBe('stop');
      expect(await asking.fileOf(session_id, 'returned.txt')).toBe(decision === 'approve' ? 'one' : undefined);
      await expect(client.approvals.decide(requests[0]!.id, { decision: 'deny' })).rejects.toMatchObject({
        code: 'approval_already_decided',
        status: 409,
      });
    });
  }

  verifies('client.approvals', 'a tool that is called without a chat', async () => {
    const call = { name: 'write_file', arguments: { path: '名字.txt', content: '一' }, session_id: 'client_tool' };
    const waiting = await client.tools.call(call);
    if (!('approval' in waiting)) throw new Error('it did not wait');
    expect((await client.approvals.get(waiting.approval.id)).state).toBe('waiting');
    await client.approvals.decide(waiting.approval.id, { decision: 'approve' });
    const ended = await client.tools.call(call, { idempotencyKey: waiting.idempotencyKey });
    expect(ended).toMatchObject({ success: true, session_id: 'client_tool' });
    const read = await client.files.download({ sessionId: 'client_tool', path: '名字.txt' });
    expect(await read.text()).toBe('一');
  });
});

verifies('client.files', 'sessions and files', async () => {
  const sessionId = 'client_files';
  expect(await client.sessions.create({ session_id: sessionId, metadata: { 项目: '报告' } })).toMatchObject({
    id: sessionId,
    metadata: { 项目: '报告' },
  });
  const file = { sessionId, path: 'a b/数据 #1?.txt' };
  const uploaded = await client.files.upload({ ...file, content: '牛奶' }, { ifNoneMatch: '*' });
  expect(uploaded).toMatchObject({ path: file.path, size: 6, created: true });
  await expect(client.files.upload({ ...file, content: 'x' }, { ifNoneMatch: '*' })).rejects.toMatchObject({
    code: 'precondition_failed',
  });
  const bytes = new Blob(['a stream']).stream();
  const { etag } = await client.files.upload({ ...file, content: bytes }, { ifMatch: uploaded.etag });
  expect(etag).not.toBe(uploaded.etag);
  expect(await (await client.files.download(file)).text()).toBe('a stream');
  expect((await client.files.list(sessionId)).files.map(({ path }) => path)).toContain(file.path);
  const archive = await (await client.files.archive(sessionId)).text();
  expect(archive).toContain('a stream');
  await client.files.delete(file);
  await expect(client.files.download(file)).rejects.toMatchObject({ code: 'file_not_found', status: 404 });
  expect((await client.sessions.list({ limit: 100 })).sessions.map(({ id }) => id)).toContain(sessionId);
  await client.sessions.delete(sessionId);
  await expect(client.sessions.get(sessionId)).rejects.toMatchObject({ code: 'session_not_found' });
});

verifies('client.tools', 'listed, called, failed', async () => {
  const listed = await client.tools.list();
  expect(listed.map(({ function: { name } }) => name)).toContain('read_file');
  expect(await client.tools.get('read_file')).toEqual(listed.find((tool) => tool.function.name === 'read_file'));
  const failed = client.tools.call({ name: 'read_file', arguments: { path: '没有.txt' } });
  await expect(failed).rejects.toBeInstanceOf(SignalboxError);
  await expect(failed).rejects.toMatchObject({
    status: 422,
    code: 'tool_failed',
    toolName: 'read_file',
    requestId: expect.stringMatching(/^req_/),
  });
  await expect(client.chat({ messages: [] })).rejects.toMatchObject({ code: 'invalid_value', param: 'messages' });
});

// Last: the gateway of the others ends here.
describe.sequential('a gateway that is killed after a tool ran', () => {
  /** The run has been continued by another gateway, or not, when its reader comes back. */
  for (const [when, isBack] of [
    ['before another one continues its run', async () => undefined],
    ['after another one has ended its run', (at: Signalbox, id: string) => endOf(at, id)],
  ] as const) {
    verifies(
      'client.resume',
      `a gateway is killed, and the reader comes back ${when}`,
      async () => {
        const name = `client_killed_${when.split(' ')[0]}`;
        const { answer } = heldAnswer('Half an ans', 'never sent');
        let dies = true;
        const effect = { path: 'effect.txt', content: 'x', append: true };
        const script = rounds({ toolCalls: [{ name: 'write_file', arguments: effect }] }, () =>
          dies ? answer : { text: 'A whole answer' },
        );
        asking.follow(script);
        const { port } = target;
        const here = new Signalbox({ baseUrl: `http://127.0.0.1:${port}` });
        const events: ChatEvent[] = [];
        const stream = client.stream({ messages: [user('x')], tools, session_id: name });
        for await (const event of stream) {
          events.push(event);
          if (event.type === 'approval_required')
            await here.approvals.decide(event.approval.id, { decision: 'approve' });
          if (event.type !== 'content' || event.delta.content !== 'Half an ans') continue;
          dies = false;
          network.refuse();
          asking.box.gateways.find(({ url }) => url.endsWith(`:${port}`))!.kill('SIGKILL');
          const { url } = await asking.box.startGateway();
          await toolsReady(url);
          await isBack(new Signalbox({ baseUrl: url }), stream.runId!);
          target.port = Number(new URL(url).port);
          network.restore();
        }
        expect(textOf(events)).toBe('Half an ansA whole answer');
        const standing = withoutWithdrawn(events);
        expect(textOf(standing)).toBe('A whole answer');
        expect(standing.filter(({ type }) => type === 'tool_result')).toHaveLength(1);
        expect((await stream.completion()).choices[0]!.message.content).toBe('A whole answer');
        expect(await asking.fileOf(name, 'effect.txt')).toBe('x');
      },
      120_000,
    );
  }
});

const endOf = (signalbox: Signalbox, runId: string) =>
  expect.poll(async () => (await signalbox.runs.get(runId)).state, { timeout: 30_000 }).toBe('done');
