// The same cases over the protocol and in process: both connections must behave the same.
import { InMemoryTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type LogFields, silentLogger } from '#libs/logging/logger.js';
import { toCallMeta } from '#libs/mcp-server/call-meta.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { McpServer, McpTool } from '#libs/mcp-server/decorators.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';
import type { ToolServer } from '#libs/mcp-server/tool-server.js';
import { AppError } from '#libs/schemas/errors.js';
import { establish } from './connect.js';
import type { ToolConnection } from './connection.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import { InProcessConnection } from './in-process-connection.js';

@McpServer({ name: 'table', authorize: (tool) => tool !== 'forbidden' })
class TableTools {
  readonly seen: ToolContext[] = [];
  readonly aborted: unknown[] = [];
  late?: () => void;

  @McpTool({
    description: 'Object.',
    input: z.object({ n: z.number().default(1) }),
    output: z.object({ n: z.number() }),
  })
  object({ n }: { n: number }, context: ToolContext) {
    this.seen.push(context);
    return { n, absent: undefined };
  }

  @McpTool({ description: 'Text.', input: z.object({ text: z.string() }) })
  text({ text }: { text: string }): string {
    return text;
  }

  @McpTool({ description: 'Content.', input: z.object({}) })
  content() {
    return {
      content: [
        { type: 'image' as const, data: 'AA==', mimeType: 'image/png' },
        { type: 'resource_link' as const, uri: 'file:///x', name: 'x' },
      ],
      structuredContent: { kept: true },
      _meta: { 'signalbox/own': 1 },
    };
  }

  @McpTool({ description: 'Breaks its promise.', input: z.object({}), output: z.object({ n: z.number() }) })
  broken() {
    return { n: 'text' };
  }

  @McpTool({ description: 'Fails.', input: z.object({ known: z.boolean() }) })
  fail({ known }: { known: boolean }): string {
    if (known) throw new AppError('workspace_quota_exceeded', 'The workspace is full');
    throw new Error('secret of /root/host');
  }

  @McpTool({ description: 'Forbidden.', input: z.object({}) })
  forbidden(): string {
    return 'no';
  }

  @McpTool({ description: 'Never ends.', input: z.object({}), timeoutMs: 30 })
  hang(): Promise<string> {
    return new Promise(() => undefined);
  }

  @McpTool({ description: 'Waits to be cancelled.', input: z.object({}) })
  async wait(_input: object, context: ToolContext): Promise<string> {
    context.reportProgress(1, 2, 'x'.repeat(3_000));
    context.reportProgress(0 / 0);
    context.reportProgress(2);
    this.late = () => context.reportProgress(3);
    await new Promise<void>((resolve) => context.signal.addEventListener('abort', () => resolve(), { once: true }));
    this.aborted.push(context.signal.reason);
    return 'late';
  }
}

const ways = {
  direct: async (server: ToolServer): Promise<ToolConnection> => new InProcessConnection(server),
  'over the protocol': async (server: ToolServer): Promise<ToolConnection> => {
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    await server.connect(serverSide);
    const { signal } = new AbortController();
    return establish(clientSide, { signal, cancelGraceMs: 60_000, startTimeoutMs: 60_000, prior: { kind: 'legacy' } });
  },
};

const open: ToolServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function connected(way: keyof typeof ways) {
  const tools = new TableTools();
  const lines: [level: string, LogFields, string][] = [];
  const at = (level: string) => (fields: LogFields, message: string) => void lines.push([level, fields, message]);
  const write = { debug: at('debug'), info: at('info'), isLevelEnabled: () => true };
  const logger = { ...silentLogger, ...write, child: () => logger };
  const server = createMcpServer(tools, { logger, openWorkspace: () => ({}) as never });
  open.push(server);
  const connection = await ways[way](server);
  const call = (tool: string, args = {}, given: Partial<ToolCallOptions> = {}, meta = {}) =>
    connection.callTool(
      { tool, arguments: args, meta },
      { signal: new AbortController().signal, maxTimeoutMs: 10_000, onProgress: () => undefined, ...given },
    );
  return { tools, server, connection, call, lines };
}

const calls: [tool: string, args: object, expected: object][] = [
  ['object', { n: 5 }, { structuredContent: { n: 5 }, content: [{ type: 'text', text: '{"n":5}' }] }],
  ['object', {}, { structuredContent: { n: 1 } }],
  ['object', { n: 'five' }, { isError: true, _meta: { 'signalbox/error_code': 'invalid_tool_arguments' } }],
  ['text', { text: '你好' }, { content: [{ type: 'text', text: '你好' }] }],
  ['content', {}, { structuredContent: { kept: true }, _meta: { 'signalbox/own': 1 } }],
  ['broken', {}, { isError: true, _meta: { 'signalbox/error_code': 'invalid_tool_result' } }],
  ['fail', { known: true }, { isError: true, content: [{ type: 'text', text: 'The workspace is full' }] }],
  ['fail', { known: false }, { isError: true, content: [{ type: 'text', text: 'The tool failed' }] }],
  ['forbidden', {}, { isError: true, _meta: { 'signalbox/error_code': 'tool_denied' } }],
  ['hang', {}, { isError: true, _meta: { 'signalbox/error_code': 'tool_timeout' } }],
];

test.each(calls)('%s %j ends the same on both ways', async (tool, args, expected) => {
  const [direct, protocol] = [await connected('direct'), await connected('over the protocol')];
  const result = await direct.call(tool, args);
  expect(result).toMatchObject(expected);
  expect(JSON.parse(JSON.stringify(result))).toEqual(JSON.parse(JSON.stringify(await protocol.call(tool, args))));
});

test('the tools are the same on both ways', async () => {
  const [direct, protocol] = [await connected('direct'), await connected('over the protocol')];
  const { signal } = new AbortController();
  const listed = await direct.connection.listTools(signal);
  expect(listed).toHaveLength(8);
  expect(listed).toEqual(await protocol.connection.listTools(signal));
});

describe.each(Object.keys(ways) as (keyof typeof ways)[])('%s', (way) => {
  test('an unknown tool', async () => {
    const { call } = await connected(way);
    await expect(call('nothing')).rejects.toMatchObject({
      code: 'invalid_tool_arguments',
      message: expect.stringContaining('Unknown tool'),
    });
  });

  test('the context of a call', async () => {
    const { call, tools } = await connected(way);
    const context = { requestId: 'req_1', userId: 'alice', sessionId: 'sess_1', workspaceDirectory: 'dir' };
    const reported: unknown[] = [];
    await call('object', {}, { onProgress: (progress) => reported.push(progress) }, toCallMeta(context));
    expect(tools.seen[0]).toMatchObject({ requestId: 'req_1', userId: 'alice', sessionId: 'sess_1' });
    expect(tools.seen[0]!.workspace).toBeDefined();
    // Progress after the end of a call is dropped; if not, the next call would get it.
    tools.seen[0]!.reportProgress(9);
    await call('text', { text: 'x' }, { onProgress: (progress) => reported.push(progress) });
    expect(reported).toEqual([]);
  });

  test('progress comes in order and bounded, none after the end; a cancelled call ends at once with its reason', async () => {
    const { call, tools } = await connected(way);
    const stop = new AbortController();
    const reported: unknown[] = [];
    const calling = call('wait', {}, { signal: stop.signal, onProgress: (progress) => reported.push(progress) });
    await expect.poll(() => reported).toHaveLength(2);
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(calling).rejects.toBe(reason);
    tools.late!();
    await expect.poll(() => tools.aborted).toHaveLength(1);
    expect(reported).toEqual([{ progress: 1, total: 2, message: 'x'.repeat(2_000) }, { progress: 2 }]);
    await expect(call('text', { text: 'no' }, { signal: stop.signal })).rejects.toBe(reason);
  });

  test('a server that closes ends its calls and its connections', async () => {
    const { call, tools, server, connection } = await connected(way);
    let closed = 0;
    connection.onClosed(() => (closed += 1));
    const reported: unknown[] = [];
    const calling = call('wait', {}, { onProgress: (progress) => reported.push(progress) });
    await expect.poll(() => reported).toHaveLength(2);
    await server.close();
    await expect(calling).rejects.toMatchObject({ code: 'tool_crashed' });
    await expect.poll(() => tools.aborted).toHaveLength(1);
    expect([connection.closed, closed]).toEqual([true, 1]);
    await expect(call('text', { text: 'x' })).rejects.toBeInstanceOf(AppError);
    await expect(connection.listTools(new AbortController().signal)).rejects.toBeInstanceOf(AppError);
  });

  test('a connection that is closed ends its calls, and hears of no change any more', async () => {
    const { call, tools, server, connection } = await connected(way);
    let changes = 0;
    connection.onListChanged(() => (changes += 1));
    const reported: unknown[] = [];
    const calling = call('wait', {}, { onProgress: (progress) => reported.push(progress) });
    await expect.poll(() => reported).toHaveLength(2);
    server.remove('text');
    await expect.poll(() => changes).toBeGreaterThan(0);
    const before = changes;
    const ended = expect(calling).rejects.toMatchObject({ code: 'tool_crashed' });
    await connection.close();
    await ended;
    await expect.poll(() => tools.aborted).toHaveLength(1);
    server.remove('object');
    expect([connection.closed, changes]).toEqual([true, before]);
  });

  test('a failure is logged with its cause; what succeeds without a protocol is logged by its caller', async () => {
    const { call, lines } = await connected(way);
    lines.length = 0;
    await call('text', { text: 'x' });
    await call('fail', { known: false });
    expect(lines).toMatchObject([
      [way === 'direct' ? 'debug' : 'info', { tool: 'text' }, 'tool call'],
      ['info', { tool: 'fail', error: { message: 'secret of /root/host' } }, 'tool call failed: tool_failed'],
    ]);
  });
});

test('a flood of progress is cut off', async () => {
  @McpServer({ name: 'flood' })
  class Flood {
    @McpTool({ description: 'Floods.', input: z.object({}) })
    flood(_input: object, context: ToolContext): string {
      for (let number = 0; number < 5_000; number += 1) context.reportProgress(number);
      return 'done';
    }
  }
  const server = createMcpServer(new Flood(), { logger: silentLogger });
  open.push(server);
  let reported = 0;
  const options = {
    signal: new AbortController().signal,
    maxTimeoutMs: 10_000,
    onProgress: () => void (reported += 1),
  };
  await new InProcessConnection(server).callTool({ tool: 'flood', arguments: {}, meta: {} }, options);
  expect(reported).toBeLessThan(5_000);
});
