// Resources, prompts, completion and log messages of decorated servers, as clients of both eras meet them over HTTP and in memory.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { inputRequired } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { type LogFields, silentLogger, type Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../test/verifies.js';
import { createMcpServer } from '../create-mcp-server.js';
import { McpPrompt, McpResource, McpServer, McpTool } from '../decorators.js';
import { type HttpServing, serveOverHttp } from '../serve-over-http.js';
import type { ToolServer } from '../tool-server.js';
import type { ToolContext } from '../tool-context.js';

@McpServer({
  name: 'notes',
  instructions: 'Notes of a year.',
  authorize: (name, _context, kind) => kind !== 'resource' || !name.includes('secret'),
})
class Notes {
  private readonly texts = new Map([
    ['2026/first note', 'one'],
    ['2026/second', 'two'],
  ]);

  @McpResource({ uri: 'notes://readme', description: 'How to read.', size: 4, title: 'Read me' })
  readme(): string {
    return 'Read';
  }

  @McpResource({ uri: 'notes://picture', mimeType: 'image/png' })
  picture(): Uint8Array {
    return new Uint8Array([1, 2, 255]);
  }

  @McpResource({
    uri: 'notes://{year}/{name}',
    description: 'A note.',
    list(this: Notes) {
      return [...this.texts.keys()].map((key) => ({ uri: `notes://${encodeURI(key)}`, name: key }));
    },
    complete: {
      year: ['2025', '2026'],
      name(this: Notes, typed: string, { year }: Readonly<Record<string, string>>) {
        const names = [...this.texts.keys()].filter((key) => key.startsWith(`${year}/${typed}`));
        return names.map((key) => key.slice(key.indexOf('/') + 1));
      },
    },
  })
  note({ year, name }: Record<string, string>): string | undefined {
    return this.texts.get(`${year}/${name}`);
  }

  @McpResource({ uri: 'notes://count' })
  count(_variables: object, context: ToolContext): object {
    return { notes: this.texts.size, for: context.userId };
  }

  @McpResource({ uri: 'notes://broken' })
  broken(): string {
    throw new Error('secret of /root/host');
  }

  @McpResource({ uri: 'notes://full' })
  full(): string {
    throw new AppError('workspace_quota_exceeded', 'The workspace is full');
  }

  @McpResource({ uri: 'notes://secret' })
  secret(): string {
    return 'hidden';
  }

  @McpPrompt({
    description: 'Asks for a summary.',
    arguments: z.object({
      name: z.string().describe('Which note.'),
      language: z.enum(['English', '中文']).optional(),
      words: z.coerce.number().int().default(10),
    }),
    complete: { name: () => Array.from({ length: 120 }, (_each, at) => `note ${at}`) },
  })
  summarize({ name, language = 'English', words }: { name: string; language?: string | undefined; words: number }) {
    return `Summarize ${name} in ${words} words of ${language}`;
  }

  @McpPrompt({ description: 'Asks whom to greet.' })
  greet(_values: object, { inputResponses }: ToolContext) {
    if (inputResponses !== undefined)
      return [{ role: 'assistant' as const, content: { type: 'text' as const, text: 'Hi' } }];
    const schema = { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] };
    return inputRequired({
      inputRequests: { who: inputRequired.elicit({ message: 'Who?', requestedSchema: schema }) },
    });
  }

  @McpTool({ description: 'Changes a note.', input: z.object({}) })
  change(_input: object, context: ToolContext): string {
    const error = new Error('secret of /root/host');
    context.logger.debug({}, 'in detail');
    context.logger.info({ metadata: { name: 'second', password: 'hunter22hunter22' } }, 'changing');
    const round: Record<string, unknown> = {};
    round['round'] = round;
    context.logger.info({ metadata: round }, 'in a circle');
    context.logger.child({}).error({ error }, 'nearly failed');
    context.resourceUpdated('notes://2026/second');
    return 'changed';
  }
}

let server: ToolServer;
let serving: HttpServing;
const logged: string[] = [];
const note = (fields: LogFields, message: string) => void logged.push(`${message} ${fields.tool ?? ''}`);
const logger: Logger = { ...silentLogger, info: note, error: note, isLevelEnabled: () => true, child: () => logger };
beforeAll(async () => {
  server = createMcpServer(new Notes(), { logger });
  serving = await serveOverHttp(server, { logger: silentLogger });
});
afterAll(async () => {
  await serving.close(0);
  await server.close();
});

const eras = ['auto', 'legacy'] as const;

async function connected(mode: (typeof eras)[number]): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)));
  expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
  return client;
}

for (const era of eras) {
  verifies(
    'tools.decorators-resources',
    `${era}: listed, read as text, bytes and JSON, by URI and template`,
    async () => {
      const client = await connected(era);
      expect(client.getInstructions()).toBe('Notes of a year.');
      const { resources } = await client.listResources();
      expect(resources.slice(0, 4)).toMatchObject([
        { uri: 'notes://readme', name: 'readme', title: 'Read me', description: 'How to read.', size: 4 },
        { uri: 'notes://picture', name: 'picture', mimeType: 'image/png' },
        { uri: 'notes://2026/first%20note', name: '2026/first note', description: 'A note.' },
        { uri: 'notes://2026/second' },
      ]);
      expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
        { uriTemplate: 'notes://{year}/{name}', name: 'note' },
      ]);
      const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
      expect(await read('notes://readme')).toEqual({ uri: 'notes://readme', mimeType: 'text/plain', text: 'Read' });
      expect(await read('notes://picture')).toMatchObject({ mimeType: 'image/png', blob: 'AQL/' });
      expect(await read(resources[2]!.uri)).toMatchObject({ text: 'one' });
      expect(await read('notes://count')).toMatchObject({
        mimeType: 'application/json',
        text: '{"notes":2,"for":"anonymous"}',
      });
      await client.close();
    },
  );

  verifies('tools.decorators-resources', `${era}: what is not there, may not be read or fails`, async () => {
    const client = await connected(era);
    for (const uri of [
      'notes://2026/third',
      'other://readme',
      'notes://2026/%zz',
      `notes://2026/${'x'.repeat(5_000)}`,
    ]) {
      await expect(client.readResource({ uri }), uri.slice(0, 30)).rejects.toMatchObject({ code: -32602 });
    }
    const refused = { code: -32602, message: expect.stringContaining('UNAUTHORIZED') as string };
    await expect(client.readResource({ uri: 'notes://secret' })).rejects.toMatchObject(refused);
    if (era === 'legacy') {
      await expect(client.subscribeResource({ uri: 'notes://secret' })).rejects.toMatchObject(refused);
    }
    const full = { message: expect.stringContaining('The workspace is full') as string };
    await expect(client.readResource({ uri: 'notes://full' })).rejects.toMatchObject(full);
    const error = await client.readResource({ uri: 'notes://broken' }).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: -32603 });
    expect(JSON.stringify(error) + (error as Error).message).not.toContain('secret');
    await client.close();
  });

  verifies('tools.decorators-prompts', `${era}: listed with arguments, filled, checked, and asking`, async () => {
    const client = await connected(era);
    const { prompts } = await client.listPrompts();
    expect(prompts).toEqual([
      {
        name: 'summarize',
        description: 'Asks for a summary.',
        arguments: [
          { name: 'name', description: 'Which note.', required: true },
          { name: 'language', required: false },
          { name: 'words', required: false },
        ],
      },
      { name: 'greet', description: 'Asks whom to greet.' },
    ]);
    const text = async (name: string, args = {}) => {
      const { messages } = await client.getPrompt({ name, arguments: args });
      return messages.map(({ role, content }) => `${role}: ${(content as { text: string }).text}`);
    };
    expect(await text('summarize', { name: 'x', words: '5' })).toEqual(['user: Summarize x in 5 words of English']);
    expect(await text('greet')).toEqual(['assistant: Hi']);
    await expect(text('summarize', { words: 'many' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(/name: .*words: /) as string,
    });
    await expect(text('other')).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });

  verifies('tools.decorators-completion', `${era}: of arguments and variables, up to a hundred`, async () => {
    const client = await connected(era);
    const complete = async (ref: object, name: string, value: string, given = {}) => {
      const params = { ref, argument: { name, value }, context: { arguments: given } };
      return (await client.complete(params as Parameters<Client['complete']>[0])).completion;
    };
    const prompt = { type: 'ref/prompt', name: 'summarize' };
    const template = { type: 'ref/resource', uri: 'notes://{year}/{name}' };
    expect(await complete(prompt, 'language', 'e')).toMatchObject({ values: ['English'], total: 1, hasMore: false });
    const many = await complete(prompt, 'name', '');
    expect([many.values.length, many.total, many.hasMore]).toEqual([100, 120, true]);
    expect((await complete(prompt, 'words', '')).values).toEqual([]);
    expect((await complete(template, 'year', '2026')).values).toEqual(['2026']);
    expect((await complete(template, 'name', 'f', { year: '2026' })).values).toEqual(['first note']);
    await expect(complete({ type: 'ref/prompt', name: 'other' }, 'a', '')).rejects.toMatchObject({ code: -32602 });
    await expect(complete({ ...template, uri: 'notes://readme' }, 'a', '')).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });
}

/** The lines that the client gets of a call, at its level. */
async function heard(era: (typeof eras)[number], level: 'debug' | 'info' | undefined): Promise<unknown[]> {
  const client = await connected(era);
  const lines: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void lines.push(params));
  if (level !== undefined && era === 'legacy') await client.setLoggingLevel(level);
  const meta = level === undefined ? {} : { _meta: { 'io.modelcontextprotocol/logLevel': level } };
  await client.callTool({ name: 'change', arguments: {}, ...(era === 'auto' ? meta : {}) });
  await client.close();
  return lines;
}

for (const era of eras) {
  verifies(
    'tools.decorators-logging',
    `${era}: a client gets the lines of its calls at or above its level`,
    async () => {
      const graver = [
        { level: 'info', logger: 'notes', data: { message: 'changing', name: 'second', password: '[redacted]' } },
        { level: 'info', logger: 'notes', data: 'in a circle' },
        { level: 'error', logger: 'notes', data: 'nearly failed' },
      ];
      logged.length = 0;
      expect(await heard(era, 'info')).toEqual(graver);
      expect(logged).toEqual(['changing ', 'in a circle ', 'nearly failed ', 'tool call change']);
      expect(await heard(era, 'debug')).toEqual([{ level: 'debug', logger: 'notes', data: 'in detail' }, ...graver]);
    },
  );
}

verifies('tools.decorators-logging', 'a request of 2026-07-28 that names no level gets none', async () => {
  expect(await heard('auto', undefined)).toEqual([]);
});
