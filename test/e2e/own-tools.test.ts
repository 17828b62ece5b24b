// The files of docs/own-tools.md outside the checkout: what compiles, and what clients of both eras get. The page itself is
// followed by pages.test.ts.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect } from 'vitest';
import { startSignalbox } from '../support/services/start-signalbox.js';
import { freePort } from '../support/services/free-port.js';
import { codeBlocks } from '../support/markdown-blocks.js';
import { mcpClients, type McpCaller, withClients } from '../support/mcp-clients.js';
import { runProgram } from '../support/run-program.js';
import { callTool } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** A reader's own directory, outside the checkout. */
let folder: string;
let compiled: Awaited<ReturnType<typeof runProgram>>;

const compile = () => runProgram(process.execPath, [join(root, 'node_modules/typescript-7/bin/tsc'), '-p', folder]);

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'own-tools-')));
  // What the page installs: a link to the checkout, and packages.
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['zod', '@types/node', '@nestjs', 'undici-types']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  await symlink(root, join(folder, 'node_modules/signalbox'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const blocks = codeBlocks(await readFile(join(root, 'docs/own-tools.md'), 'utf8'));
  const files = new Map(blocks.flatMap(({ file, code }) => (file === undefined ? [] : [[file, code] as const])));
  const written = ['src/question-tools.ts', 'src/main.ts', 'tsconfig.json'];
  expect([...files.keys()]).toEqual(expect.arrayContaining(written));
  for (const file of written) await writeFile(join(folder, file), files.get(file)!);
  await writeFile(join(folder, 'src/shelf.module.ts'), ownModule);
  compiled = await compile();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

verifies('tools.own-server-documented', 'its types are right, and wrong ones are not', async () => {
  expect(compiled).toMatchObject({ code: 0 });
  const wrong =
    "import { createMcpServer } from 'signalbox/libs/mcp-server/create-mcp-server.js';\ncreateMcpServer(1);\n";
  await writeFile(join(folder, 'src/wrong.ts'), wrong);
  try {
    expect((await compile()).code).not.toBe(0);
  } finally {
    await rm(join(folder, 'src/wrong.ts'));
  }
});

async function expectQuestionTools(client: Pick<McpCaller, 'listTools' | 'call'>): Promise<void> {
  const tools = await client.listTools();
  expect(tools).toMatchObject([
    {
      name: 'get_all_parameters',
      inputSchema: { properties: { category: { default: 'all' }, format: { default: 'json' } } },
      _meta: { 'signalbox/metadata': { version: '1.0.0', category: 'configuration' } },
    },
    { name: 'analyze_question', inputSchema: { required: ['question'] }, annotations: { readOnlyHint: true } },
  ]);
  const textOf = async (name: string, args: object) => {
    const { content } = await client.call({ name, arguments: args });
    return JSON.parse((content as { text: string }[])[0]!.text) as unknown;
  };
  expect(await textOf('get_all_parameters', {})).toMatchObject({ model: {}, search: { limit: 10 } });
  const question = 'How will AI reshape the labor market?';
  expect(await textOf('analyze_question', { question })).toMatchObject({ question_type: 'prediction', words: 7 });
  await expect(client.call({ name: 'unknown' })).rejects.toMatchObject({
    code: -32_602,
    data: { code: 'tool_not_found' },
  });
}

const overStdio = {
  '2026-07-28': async (program: { command: string; args: string[]; stderr: 'pipe' }) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const transport = new StdioClientTransport(program);
    await client.connect(transport);
    return { client, transport };
  },
  'SDK 1.x': async (program: { command: string; args: string[]; stderr: 'pipe' }) => {
    const client = new OldClient({ name: 'test', version: '1' });
    const transport = new OldTransport(program);
    await client.connect(transport);
    return { client, transport };
  },
};

for (const [era, connect] of Object.entries(overStdio)) {
  verifies('tools.own-server-stdio', era, async () => {
    const program = { command: process.execPath, args: [join(folder, 'dist/main.js')], stderr: 'pipe' as const };
    const { client, transport } = await connect(program);
    try {
      let said = '';
      transport.stderr?.on('data', (data: Buffer) => (said += data.toString()));
      await expectQuestionTools({
        listTools: async () => (await client.listTools()).tools,
        call: (params) => client.callTool(params as never),
      });
      // The log goes to standard error, because standard output carries the protocol.
      await expect.poll(() => said, { timeout: 10_000 }).toMatch(/"tool":"analyze_question".*"tool call"/);
    } finally {
      await client.close();
    }
  });
}

verifies('tools.own-server-documented', 'over HTTP, to clients of both eras, until it is asked to stop', async () => {
  const port = await freePort();
  const server: ChildProcess = spawn(process.execPath, [join(folder, 'dist/main.js'), String(port)], {
    stdio: 'ignore',
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    const listens = () =>
      fetch(url).then(
        () => true,
        () => false,
      );
    await expect.poll(listens, { timeout: 20_000 }).toBe(true);
    for (const name of ['the 1.x client', 'the 2.x client, 2026-07-28'] as (keyof typeof mcpClients)[]) {
      await withClients(url, [name], expectQuestionTools);
    }
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    server.kill('SIGKILL');
  }
});

/** It shares Nest, decorators and errors with the worker. */
const ownModule = `
import { Inject, Logger, Module } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { z } from 'zod';
import { McpServer, McpTool } from 'signalbox/libs/mcp-server/decorators.js';
import { AppError } from 'signalbox/libs/schemas/errors.js';

@McpServer({ name: 'shelf' })
class ShelfTools {
  constructor(@Inject(ModuleRef) private readonly modules: ModuleRef) {}

  @McpTool({ description: 'Looks a book up.', input: z.object({ title: z.string() }) })
  find_book({ title }: { title: string }) {
    new Logger('shelf').warn('looked up ' + title.length);
    if (title === '') throw new AppError('invalid_tool_arguments', 'A title has letters.');
    return { title, mine: this.modules.get(ShelfTools) === this };
  }
}

@Module({ providers: [ShelfTools] })
export default class ShelfModule {}
`;

verifies(
  'tools.modules-named',
  'inside the built worker, with what Nest injects, and its own errors',
  async () => {
    const file = join(folder, 'dist/shelf.module.js');
    const signalbox = await startSignalbox({ environment: { WORKER_MODULES: file } });
    try {
      await expect.poll(() => names(signalbox.url), { timeout: 20_000 }).toContain('find_book');
      const call = async (title: string) =>
        (await callTool(signalbox.url, { name: 'find_book', arguments: { title }, session_id: 'sess_own' })).body;
      expect(await call('红楼梦')).toMatchObject({ structured_content: { title: '红楼梦', mine: true } });
      expect(await call('')).toMatchObject({ error: { message: expect.stringContaining('A title has letters.') } });
      // By Nest's own logger, yet in the form of our log.
      await signalbox.workers[0]!.logged(({ level, message }) => level === 'warn' && message === 'looked up 3');
      expect(signalbox.workers[0]!.stray).toEqual([]);
    } finally {
      await signalbox.close();
    }
  },
  60_000,
);

async function names(url: string): Promise<string[]> {
  const { data } = (await (await fetch(`${url}/api/tools`)).json()) as { data: { function: { name: string } }[] };
  return data.map((tool) => tool.function.name);
}
