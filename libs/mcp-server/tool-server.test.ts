import { Injectable, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { silentLogger, type LogFields, type Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { createTestServer, type TestServer } from '#libs/testing/test-server.js';
import { verifies } from '../../test/verifies.js';
import { readErrorCode } from './call-meta.js';
import { createMcpServer, discoverMcpServers } from './create-mcp-server.js';
import { McpServer, McpTool } from './decorators.js';
import type { ToolContext } from './tool-context.js';

@Injectable()
class Clock {
  now(): number {
    return 1_000;
  }
}

@McpServer({ name: 'clock', version: '2.0.0' })
@Injectable()
class ClockTools {
  seen: ToolContext | undefined;
  aborted: Promise<void> | undefined;

  constructor(private readonly clock: Clock) {}

  @McpTool({
    description: 'Current time, shifted.',
    input: z.object({ offset_ms: z.number().default(0) }),
    annotations: { readOnlyHint: true },
    metadata: { category: 'time', tags: ['clock'] },
  })
  getTime({ offset_ms }: { offset_ms: number }, context: ToolContext) {
    this.seen = context;
    return { timestamp: this.clock.now() + offset_ms };
  }

  @McpTool({ description: 'Says it.', input: z.object({ text: z.string() }), name: 'say', title: 'Say' })
  async speak({ text }: { text: string }): Promise<string> {
    return text;
  }

  @McpTool({ description: 'Shows a picture.', input: z.object({}) })
  picture() {
    return { content: [{ type: 'image' as const, data: 'AA==', mimeType: 'image/png' }] };
  }

  @McpTool({ description: 'Fails.', input: z.object({ how: z.string() }) })
  fail({ how }: { how: string }): string {
    if (how === 'quota') throw new AppError('workspace_quota_exceeded', 'The workspace is full');
    if (how === 'value') throw new AppError('invalid_value', 'Bad path');
    if (how === 'missing') throw new AppError('file_not_found', "File 'x' does not exist");
    throw new Error('secret of /root/host');
  }

  @McpTool({ description: 'Breaks its promise.', input: z.object({}), output: z.object({ n: z.number() }) })
  broken() {
    return { n: 'text' };
  }

  @McpTool({ description: 'Takes long.', input: z.object({}) })
  async wait(_input: object, context: ToolContext): Promise<string> {
    context.reportProgress(1, 3, 'first');
    context.reportProgress(2, 3, 'second');
    this.aborted = new Promise((resolve) => context.signal.addEventListener('abort', () => resolve(), { once: true }));
    await this.aborted;
    return 'late';
  }

  @McpTool({ description: 'Never ends.', input: z.object({}), timeoutMs: 30 })
  hang(): Promise<string> {
    return new Promise(() => undefined);
  }
}

const clockTools = () => new ClockTools(new Clock());

let open: TestServer[] = [];
afterEach(async () => {
  await Promise.all(open.map((server) => server.close()));
  open = [];
});

async function connected(...given: Parameters<typeof createTestServer>): Promise<TestServer> {
  const server = await createTestServer(...given);
  open.push(server);
  return server;
}

const textOf = (result: { content: unknown }) => (result.content as { text: string }[])[0]!.text;

verifies('tools.decorators-publish', 'names, schemas with defaults, annotations, metadata', async () => {
  const { client } = await connected(clockTools());
  const { tools } = await client.listTools();
  expect(tools.map((tool) => tool.name)).toEqual(['getTime', 'say', 'picture', 'fail', 'broken', 'wait', 'hang']);
  expect(tools[0]).toMatchObject({
    description: 'Current time, shifted.',
    inputSchema: { type: 'object', properties: { offset_ms: { type: 'number', default: 0 } } },
    annotations: { readOnlyHint: true },
    _meta: { 'signalbox/metadata': { category: 'time', tags: ['clock'] } },
  });
  expect(tools[0]!.inputSchema.required).toBeUndefined();
  expect(tools[1]).toMatchObject({ title: 'Say' });
});

verifies('tools.decorators-results', 'object, string, content', async () => {
  const { call } = await connected(clockTools());
  expect(await call('getTime', { offset_ms: 5 })).toMatchObject({
    content: [{ type: 'text', text: '{"timestamp":1005}' }],
    structuredContent: { timestamp: 1005 },
  });
  expect((await call('getTime')).structuredContent).toEqual({ timestamp: 1000 });
  expect(textOf(await call('say', { text: '你好' }))).toBe('你好');
  expect((await call('picture')).content).toMatchObject([{ type: 'image', mimeType: 'image/png' }]);
});

describe('failures', () => {
  const table: [how: string, code: string, text: string][] = [
    ['quota', 'workspace_quota_exceeded', 'The workspace is full'],
    ['value', 'invalid_tool_arguments', 'Bad path'],
    ['missing', 'tool_failed', "File 'x' does not exist"],
    ['other', 'tool_failed', 'The tool failed'],
  ];
  for (const [how, code, text] of table) {
    verifies('tools.decorators-errors', how, async () => {
      const result = await (await connected(clockTools())).call('fail', { how });
      expect(result.isError).toBe(true);
      expect(readErrorCode(result._meta)).toBe(code);
      expect(textOf(result)).toBe(text);
    });
  }

  verifies('tools.decorators-errors', 'arguments, result and time', async () => {
    const { call } = await connected(clockTools());
    for (const [name, args, code] of [
      ['getTime', { offset_ms: 'soon' }, 'invalid_tool_arguments'],
      ['broken', {}, 'invalid_tool_result'],
      ['hang', {}, 'tool_timeout'],
    ] as const) {
      const result = await call(name, args);
      expect([name, result.isError, readErrorCode(result._meta)]).toEqual([name, true, code]);
    }
  });

  verifies('tools.decorators-errors', 'unknown name', async () => {
    const { call } = await connected(clockTools());
    await expect(call('nothing')).rejects.toMatchObject({ code: -32602, data: { code: 'tool_not_found' } });
  });
});

verifies('tools.decorators-progress', 'progress arrives, cancelling aborts the signal', async () => {
  const tools = clockTools();
  const { call } = await connected(tools);
  const stop = new AbortController();
  const seen: (string | undefined)[] = [];
  const calling = call(
    'wait',
    {},
    {
      signal: stop.signal,
      onProgress: ({ message }) => {
        seen.push(message);
        if (seen.length === 2) stop.abort();
      },
    },
  );
  await expect(calling).rejects.toThrow();
  expect(seen).toEqual(['first', 'second']);
  await tools.aborted;
});

describe('authorize', () => {
  @McpServer({ name: 'guarded', authorize: (tool, context) => tool !== 'secret' || context.userId === 'admin' })
  class Guarded {
    ran = 0;
    authorize(tool: string): boolean {
      return tool !== 'never';
    }
    @McpTool({ description: 'Open.', input: z.object({}) })
    open(): string {
      return 'yes';
    }
    @McpTool({ description: 'Closed.', input: z.object({}) })
    secret(): string {
      this.ran += 1;
      return 'no';
    }
    @McpTool({ description: 'Closed by the class.', input: z.object({}) })
    never(): string {
      this.ran += 1;
      return 'no';
    }
  }

  verifies('tools.decorators-authorize', 'before every handler', async () => {
    const tools = new Guarded();
    const { call } = await connected(tools);
    expect(textOf(await call('open'))).toBe('yes');
    for (const name of ['secret', 'never']) {
      const refused = await call(name);
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain('UNAUTHORIZED');
      expect(readErrorCode(refused._meta)).toBe('tool_denied');
    }
    expect(tools.ran).toBe(0);
  });
});

verifies('tools.decorators-dynamic', 'register and remove while connected', async () => {
  const { server, client, call } = await connected(clockTools());
  const changes: number[] = [];
  const waiting: (() => void)[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes.push(changes.length);
    waiting.shift()?.();
  });
  const changed = () => new Promise<void>((resolve) => waiting.push(resolve));
  const added = changed();
  server.register({
    name: 'extra',
    place: 'test',
    options: { description: 'Extra.', input: z.object({}) },
    handler: () => 'here',
  });
  await added;
  expect(textOf(await call('extra'))).toBe('here');
  const removed = changed();
  expect(server.remove('extra')).toBe(true);
  await removed;
  expect((await client.listTools()).tools.map((tool) => tool.name)).not.toContain('extra');
});

describe('found at start', () => {
  @McpServer({ name: 'clock' })
  class OtherClock {}

  @McpServer({ name: 'twins' })
  class Twins {
    @McpTool({ description: 'One.', input: z.object({}), name: 'same' })
    first(): string {
      return '1';
    }
    @McpTool({ description: 'Two.', input: z.object({}), name: 'same' })
    second(): string {
      return '2';
    }
  }

  async function discovered(providers: (new (...args: never[]) => unknown)[], logger: Logger = silentLogger) {
    @Module({ imports: [DiscoveryModule], providers })
    class TestModule {}
    const app = await Test.createTestingModule({ imports: [TestModule] }).compile();
    return discoverMcpServers(app.get(DiscoveryService, { strict: false }), { logger });
  }

  verifies('tools.decorators-found', 'a provider with its dependencies', async () => {
    const lines: [LogFields, string][] = [];
    const logger: Logger = { ...silentLogger, info: (...line) => void lines.push(line), child: () => logger };
    const [server] = await discovered([Clock, ClockTools], logger);
    expect(server!.name).toBe('clock');
    expect(lines[0]).toEqual([{ metadata: { server: 'clock', tools: server!.toolNames() } }, 'mcp server ready']);
  });

  verifies('tools.decorators-found', 'duplicate names stop the start', async () => {
    await expect(discovered([Clock, ClockTools, OtherClock])).rejects.toThrow(/'clock'.*ClockTools.*OtherClock/);
    expect(() => createMcpServer(new Twins(), { logger: silentLogger })).toThrow(/Twins\.first and Twins\.second/);
  });
});

test('the context of a call is believed only where the server was told to', async () => {
  const meta = { requestId: 'req_1', userId: 'alice', sessionId: 'sess_1', workspaceDirectory: 'dir-1' };
  const outside = clockTools();
  await (await connected(outside, { meta })).call('getTime');
  expect(outside.seen).toMatchObject({ userId: 'anonymous' });
  expect(() => outside.seen!.workspace).toThrow(AppError);
  const inside = clockTools();
  const opened: unknown[] = [];
  const openWorkspace = (call: unknown) => {
    opened.push(call);
    return {} as never;
  };
  await (await connected(inside, { meta, openWorkspace })).call('getTime');
  expect(inside.seen).toMatchObject({ requestId: 'req_1', userId: 'alice', sessionId: 'sess_1' });
  expect(inside.seen!.workspace).toBeDefined();
  expect(opened).toEqual([meta]);
});
