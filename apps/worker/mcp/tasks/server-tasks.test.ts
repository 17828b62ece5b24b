// Servers that make tasks of calls, in both eras: the extension since 2026-07-28, and the experimental tasks of 2025-11-25.
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import type { Question } from '#libs/waits/question.js';
import { httpServer } from '../../../../test/support/http-server.js';
import { listeningFixture, type ListeningFixture } from '../../../../test/support/listening-fixture.js';
import { fixture, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { connectHttp } from '../servers/connect.js';
import type { RawToolResult } from '../servers/connection.js';
import type { Progress } from '../wire/guarded-transport.js';

let http: ListeningFixture;
let servers: ToolServers;
/** Statuses with which requests about tasks are answered on the way to the server. */
let onTheWay: number[] = [];
const between = httpServer(async (request, response, body) => {
  const { method, headers } = request;
  const status = headers['mcp-method'] === 'tasks/get' ? onTheWay.shift() : undefined;
  if (status !== undefined) return response.writeHead(status).end();
  const forwarded = { ...headers, 'content-length': undefined, connection: undefined, host: undefined };
  const kept = JSON.parse(JSON.stringify(forwarded)) as Record<string, string>;
  const sent = method === 'POST' ? { body: JSON.stringify(body) } : {};
  const answered = await fetch(`${http.address}/mcp`, { method: method!, headers: kept, ...sent });
  const type = answered.headers.get('content-type') ?? 'text/plain';
  response.writeHead(answered.status, { 'content-type': type }).end(await answered.text());
});
beforeAll(async () => {
  http = await listeningFixture('new-tasks');
  await between.start();
  servers = await openToolServers({
    newHttp: { url: `${http.address}/mcp` },
    unreliable: { url: between.url },
    old: { command: 'node', args: [fixture('old-tasks')] },
  });
}, 30_000);

afterAll(async () => {
  await servers?.close();
  http?.close();
  await between.stop();
});

const read = ({ content }: RawToolResult): unknown => JSON.parse((content as { text: string }[])[0]!.text);
const recorded = () => {
  const heard: Progress[] = [];
  return { heard, onProgress: (progress: Progress) => void heard.push(progress) };
};
const ada = async () => ({ action: 'accept' as const, content: { name: 'Ada' } });
const report = async (server: string) =>
  read(await servers.call(server, 'report')) as { cancelled: string[]; calls: string[] };

describe.each(['newHttp'])('%s', (server) => {
  verifies('tools.tasks-followed', `${server}: until the result, with its status as progress`, async () => {
    const { heard, onProgress } = recorded();
    const result = await servers.call(server, 'work', { args: { steps: 3 }, options: { onProgress } });
    expect(read(result)).toEqual({ looks: 3 });
    expect(heard).toEqual([
      { progress: 1, message: 'begun' },
      { progress: 2, message: 'step 1' },
      { progress: 3, message: 'step 2' },
    ]);
    expect((await report(server)).calls.filter((name) => name === 'work')).toHaveLength(1);
  });

  verifies('tools.tasks-ask', `${server}: what it asks is a question of the call, once`, async () => {
    const questions: Question[] = [];
    const onQuestion = (question: Question) => {
      questions.push(question);
      return ada();
    };
    const result = await servers.call(server, 'book', { options: { onQuestion } });
    expect(read(result)).toEqual([await ada()]);
    expect(questions).toEqual([{ message: 'Who?', schema: expect.objectContaining({ type: 'object' }) as object }]);
  });

  verifies(
    'tools.tasks-ask',
    `${server}: without anybody to answer, the call ends and its task is cancelled`,
    async () => {
      await expect(servers.call(server, 'book')).rejects.toMatchObject({ code: 'tool_failed' });
      await vi.waitFor(async () => expect((await report(server)).cancelled).toContain('book'));
    },
  );

  verifies('tools.tasks-ended', `${server}: failed, cancelled, lost, unreadable`, async () => {
    expect(await servers.call(server, 'wrong')).toMatchObject({ isError: true });
    const ends = [
      ['fail', 'tool_failed', 'The mill has stopped'],
      ['stop', 'tool_failed', 'The tool server cancelled the task'],
      ['lose', 'tool_failed', 'Task not found'],
      ['broken', 'invalid_tool_result', 'The tool server shows a task that cannot be read'],
    ];
    for (const [tool, code, message] of ends) {
      await expect(servers.call(server, tool!)).rejects.toMatchObject({ code, message });
    }
    const { calls } = await report(server);
    expect(calls.filter((name) => name === 'lose')).toHaveLength(1);
  });

  verifies('tools.tasks-cancelled', `${server}: when its call is stopped`, async () => {
    const stopping = new AbortController();
    const why = new Error('stopped');
    const options = { signal: stopping.signal, onProgress: () => stopping.abort(why) };
    await expect(servers.call(server, 'endless', { options })).rejects.toBe(why);
    await vi.waitFor(async () => expect((await report(server)).cancelled).toContain('endless'));
  });
});

verifies('tools.tasks-followed', 'a look that fails on the way is repeated', async () => {
  onTheWay = [503, 404];
  expect(read(await servers.call('unreliable', 'work'))).toEqual({ looks: 3 });
  expect(onTheWay).toEqual([]);
});

verifies(
  'tools.tasks-ended',
  'a server that does not answer any more: the call ends, and is not repeated',
  async () => {
    const before = (await report('newHttp')).calls.length;
    onTheWay = Array.from({ length: 9 }, () => 404);
    await expect(servers.call('unreliable', 'work')).rejects.toMatchObject({ code: 'tool_failed' });
    expect((await report('newHttp')).calls).toHaveLength(before + 1);
    expect(onTheWay).toHaveLength(6);
  },
);

verifies('tools.tasks-ended', 'a sign-in that ends meanwhile does not let the tool begin again', async () => {
  let isOver = false;
  const value = async () => {
    if (isOver) throw new ConnectionNeeded('newHttp');
    return 'ada';
  };
  const bounds = { maxBytes: 1e6, connectMs: 5_000, totalMs: 20_000, maxExchanges: 8 };
  const connection = await connectHttp(
    { url: `${http.address}/mcp`, headers: {}, bounds, fresh: { name: 'x-caller', value } },
    {
      signal: AbortSignal.timeout(15_000),
      cancelGraceMs: 1_000,
      startTimeoutMs: 10_000,
      needed: (error) => (error instanceof ConnectionNeeded ? error : undefined),
    },
  );
  try {
    const before = (await report('newHttp')).calls.length;
    const options = {
      signal: AbortSignal.timeout(15_000),
      maxTimeoutMs: 15_000,
      onProgress: () => void (isOver = true),
    };
    const called = connection.callTool({ tool: 'endless', arguments: {}, meta: {} }, options);
    await expect(called).rejects.toMatchObject({ code: 'tool_failed' });
    expect((await report('newHttp')).calls).toHaveLength(before + 1);
  } finally {
    isOver = false;
    await connection.close();
  }
});

verifies(
  'tools.tasks-followed',
  '2025-11-25: a tool that must be called as a task, told of its end at once',
  async () => {
    const { heard, onProgress } = recorded();
    const result = await servers.call('old', 'work', { options: { onProgress } });
    expect(read(result)).toEqual({ done: true });
    expect(heard.length).toBeGreaterThan(0);
  },
  15_000,
);

verifies('tools.tasks-ask', '2025-11-25: on the stream of its result', async () => {
  const result = await servers.call('old', 'book', { options: { onQuestion: ada } });
  expect(read(result)).toEqual(await ada());
});

verifies('tools.tasks-ended', '2025-11-25: failed', async () => {
  expect(await servers.call('old', 'fail')).toMatchObject({ isError: true });
});

verifies('tools.tasks-cancelled', '2025-11-25: when its call is stopped', async () => {
  const stopping = new AbortController();
  const options = { signal: stopping.signal, onProgress: () => stopping.abort(new Error('stopped')) };
  await expect(servers.call('old', 'endless', { options })).rejects.toThrow('stopped');
  await vi.waitFor(async () => expect(read(await servers.call('old', 'states'))).toContain('cancelled'));
});
