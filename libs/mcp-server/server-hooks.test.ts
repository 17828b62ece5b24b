import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { silentLogger, type LogFields, type Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { createTestServer, type TestServer } from '#libs/testing/test-server.js';
import { verifies } from '../../test/verifies.js';
import { McpServer, McpTool, type Around } from './decorators.js';
import { PromptArgumentError, type PromptSource } from './served/prompts.js';
import type { ToolServerOptions } from './tool-server.js';

const opened: TestServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

async function open(instances: object | readonly object[], options: Partial<ToolServerOptions> = {}) {
  const server = await createTestServer(instances, options);
  opened.push(server);
  return server;
}

const said: string[] = [];

@McpServer({ name: 'noted' })
class Outer {
  @McpTool({ description: 'Doubles.', input: z.object({ n: z.number() }) })
  double({ n }: { n: number }): object {
    said.push('handler');
    return { n: 2 * n };
  }

  @McpTool({ description: 'Fails.', input: z.object({}) })
  fail(): string {
    throw new AppError('file_not_found', 'It is not there');
  }

  around: Around = async ({ tool, arguments: args, context }, run) => {
    said.push(`outer ${tool} ${JSON.stringify(args)} ${context.userId}`);
    try {
      return { ...(await run()), counted: said.length };
    } catch (error) {
      const text = `shown: ${(error as Error).message}`;
      return { content: [{ type: 'text', text }], isError: true };
    }
  };
}

@McpServer({ name: 'noted' })
class Inner {
  around: Around = (_call, run) => {
    said.push('inner');
    return run();
  };
}

verifies('tools.decorators-around', 'of several classes, in their order, errors and checks included', async () => {
  said.length = 0;
  const logged: string[] = [];
  const info = (_fields: LogFields, message: string) => void logged.push(message);
  const logger: Logger = { ...silentLogger, info, isLevelEnabled: () => true, child: () => logger };
  const { call } = await open([new Outer(), new Inner()], { logger });
  expect(await call('double', { n: 2 })).toMatchObject({ structuredContent: { n: 4 }, counted: 3 });
  expect(said).toEqual(['outer double {"n":2} anonymous', 'inner', 'handler']);
  expect(await call('fail')).toMatchObject({ isError: true, content: [{ text: 'shown: It is not there' }] });
  const wrong = await call('double', { n: 'two' });
  expect(wrong).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('shown: Invalid') as string }],
  });
  expect(logged.filter((message) => message.startsWith('tool call'))).toEqual([
    'tool call',
    'tool call failed: tool_failed',
    'tool call failed: invalid_tool_arguments',
  ]);
});

@McpServer({ name: 'broken' })
class BrokenAround {
  @McpTool({ description: 'Works.', input: z.object({}) })
  work(): string {
    return 'done';
  }

  around(): never {
    throw new Error('secret of /root/host');
  }
}

verifies('tools.decorators-around', 'one that fails itself fails the call', async () => {
  const { call } = await open(new BrokenAround());
  expect(await call('work')).toMatchObject({ isError: true, content: [{ text: 'The tool failed' }] });
});

const greeting: PromptSource = {
  list: async () => [{ name: 'greeting', arguments: [{ name: 'who', required: true }] }],
  get: async (name, { who }) => {
    if (name !== 'greeting') return undefined;
    if (who === undefined) throw new PromptArgumentError('who is missing');
    return { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}` } }] };
  },
};

verifies('tools.decorators-prompts', 'listed, filled in, refused', async () => {
  const { client } = await open(new Outer(), { prompts: greeting });
  expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'greeting' }]);
  const { messages } = await client.getPrompt({ name: 'greeting', arguments: { who: 'Bo' } });
  expect(messages).toMatchObject([{ content: { text: 'Greet Bo' } }]);
  await expect(client.getPrompt({ name: 'greeting' })).rejects.toMatchObject({
    code: -32_602,
    message: 'who is missing',
  });
  await expect(client.getPrompt({ name: 'other' })).rejects.toMatchObject({ code: -32_602 });
  const without = await open(new Outer());
  expect(without.client.getServerCapabilities()).not.toHaveProperty('prompts');
});
