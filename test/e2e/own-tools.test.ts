// Follows docs/own-tools.md: writes, checks, compiles and starts its files.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import ts from 'typescript';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { freePort } from '#libs/testing/services/free-port.js';
import { codeBlocks } from '../support/markdown-blocks.js';
import { mcpClients, type McpCaller, withClients } from '../support/mcp-clients.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** As deep as `apps/questions`, in a place where `#libs` resolves. */
let folder: string;

beforeAll(async () => {
  await mkdir(join(root, 'coverage'), { recursive: true });
  folder = await mkdtemp(join(root, 'coverage/own-tools-'));
  const blocks = codeBlocks(await readFile(join(root, 'docs/own-tools.md'), 'utf8'));
  const files = new Map(blocks.flatMap(({ file, code }) => (file === undefined ? [] : [[file, code] as const])));
  files.set('own-test.ts', blocks.findLast(({ language }) => language === 'ts')!.code);
  expect([...files.keys()]).toEqual(expect.arrayContaining(['question-tools.ts', 'main.ts', 'tsconfig.json']));
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  );
  for (const [file, code] of files) {
    await writeFile(join(folder, file), code);
    if (!file.endsWith('.ts')) continue;
    // Compiled one by one, because `tsc` would rewrite all of `dist/libs` while other tests run it.
    const compilerOptions = { ...options, module: ts.ModuleKind.ESNext, sourceMap: false };
    const compiled = ts.transpileModule(code, { compilerOptions }).outputText;
    await writeFile(join(folder, file.replace(/ts$/, 'js')), compiled);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

verifies('tools.own-server-documented', 'its types are right', async () => {
  const program = [join(root, 'node_modules/typescript-7/bin/tsc'), '--noEmit', '-p', folder];
  const checked = await runProgram(process.execPath, program);
  expect(checked).toMatchObject({ code: 0 });
});

verifies('tools.own-server-documented', 'its test says what it says', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    await import(/* @vite-ignore */ join(folder, 'own-test.ts'));
    const [first, second] = log.mock.calls.flat() as [string, { content: object[] }];
    expect(first).toBe('reason');
    expect(second.content).toEqual([{ type: 'text', text: '{"search":{"limit":10}}' }]);
  } finally {
    log.mockRestore();
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
    const program = { command: process.execPath, args: [join(folder, 'main.js')], stderr: 'pipe' as const };
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
  const server: ChildProcess = spawn(process.execPath, [join(folder, 'main.js'), String(port)], { stdio: 'ignore' });
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
