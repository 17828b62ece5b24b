import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson } from '../support/read-sse.js';
import { freePort } from '../support/services/free-port.js';
import { type StartedProcess, startProcess } from '../support/services/start-process.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import { codeBlocks } from '../support/markdown-blocks.js';
import { runProgram, runScript } from '../support/run-program.js';
import { type McpCaller, mcpClients, withClients } from '../support/mcp-clients.js';
import { startWhole } from '../support/whole-start.js';
import { verifies } from '../verifies.js';

const main = fileURLToPath(new URL('../../dist/apps/chimech/main.js', import.meta.url));
const key = 'key-of-the-worker-1';
let box: Signalbox;
let chimech: StartedProcess;
let guarded: StartedProcess;
let templates: string;

beforeAll(async () => {
  templates = await mkdtemp(join(tmpdir(), 'chimech-'));
  await writeFile(join(templates, 'note.md'), '---\nname: note\n---\nWrite a note: {{prompt}}');
  const chimechPort = String(await freePort());
  box = await startSignalbox({
    script: ({ body }) => {
      const messages = body['messages'] as { role: string; content: string }[];
      if (body['tools'] === undefined) return { text: `answer ${messages.length}` };
      if (messages.at(-1)?.role === 'tool') return { text: `It said: ${messages.at(-1)!.content}` };
      return { toolCalls: [{ id: 'a', name: 'chimech_query', arguments: { question: 'What is MCP?' } }] };
    },
    environment: {
      MCP_SERVERS: JSON.stringify({
        chimech: {
          url: `http://127.0.0.1:${chimechPort}/mcp`,
          headers: { Authorization: `Bearer ${key}` },
          trusted: true,
        },
      }),
    },
    workers: 0,
  });
  const environment = {
    CHIMECH_GATEWAY_URL: box.url,
    CHIMECH_TEMPLATES_DIR: templates,
    DATABASE_URL: box.databaseUrl,
  };
  [chimech, guarded] = await Promise.all([
    startProcess('chimech', { environment }),
    startProcess('chimech', {
      environment: {
        ...environment,
        CHIMECH_PORT: chimechPort,
        CHIMECH_API_KEY: `another-key-of-others,${key}`,
        CHIMECH_API_KEY_CREATED_AT: '2020-01-01',
      },
    }),
  ]);
  await box.startWorker();
  await toolsReady(box.url);
});
afterAll(async () => {
  for (const each of [chimech, guarded]) each?.kill('SIGKILL');
  await box?.close();
  await rm(templates, { recursive: true, force: true });
});

const names = ['chimech_query', 'chimech_generate', 'chimech_analyze', 'chimech_search'];
const text = ({ content }: { content?: unknown }) => (content as { text: string }[])[0]!.text;

async function expectTools(client: Pick<McpCaller, 'listTools' | 'call'>, remembers: boolean): Promise<void> {
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(names);
  expect(tools[0]).toMatchObject({
    title: 'chimech/query',
    annotations: { openWorldHint: true },
    _meta: { 'signalbox/metadata': { version: '1.0.0', category: 'language', tags: expect.any(Array) as string[] } },
  });
  const ask = (args: object) => client.call({ name: 'chimech/query', arguments: args });
  const first = await ask({ question: 'What is MCP?' });
  expect(text(first)).toBe('answer 2');
  expect(first).toMatchObject({
    structuredContent: { text: 'answer 2', metadata: { tokens_used: 15 } },
    metadata: { tokens_used: 15, processingTime: expect.any(Number) as number },
  });
  expect(text(await ask({ question: 'And then?' }))).toBe(remembers ? 'answer 4' : 'answer 2');
  const failed = await ask({ question: '。' });
  expect(failed).toMatchObject({ isError: true, metadata: { error: true, errorCode: 'INVALID_QUESTION' } });
}

verifies('chimech.clients', 'over HTTP', async () => {
  await withClients(chimech.url, ['the 2.x client, 2026-07-28'], (client) => expectTools(client, false));
  for (const name of ['the 2.x client, as before 2026', 'the 1.x client'] as (keyof typeof mcpClients)[]) {
    await withClients(chimech.url, [name], async (client) => {
      await expectTools(client, true);
      expect(await client.request('prompts/list', {})).toMatchObject({ prompts: [{ name: 'note' }] });
    });
  }
});

const program = (environment: Record<string, string> = { CHIMECH_TEMPLATES_DIR: templates }) => ({
  command: process.execPath,
  args: [main, '--stdio'],
  cwd: templates,
  env: { CHIMECH_GATEWAY_URL: box.url, ...environment },
  stderr: 'pipe' as const,
});

verifies('chimech.clients', 'over stdio, 2026-07-28', async () => {
  const client = new Client({ name: 'judge', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport(program()));
  try {
    const listTools = async () => (await client.listTools()).tools;
    await expectTools({ listTools, call: (params) => client.callTool(params as never) }, true);
    const { messages } = await client.getPrompt({ name: 'note', arguments: { prompt: 'milk' } });
    expect(messages).toMatchObject([{ content: { text: 'Write a note: milk' } }]);
  } finally {
    await client.close();
  }
});

verifies('chimech.generate-templates', 'those that come with it, from any working directory', async () => {
  const client = new Client({ name: 'judge', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport(program({})));
  try {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['reply', 'unit-tests', 'weekly-report']);
  } finally {
    await client.close();
  }
});

verifies('chimech.clients', 'over stdio, SDK 1.x', async () => {
  const client = new OldClient({ name: 'judge', version: '1' });
  const transport = new OldTransport(program());
  let said = '';
  await client.connect(transport);
  transport.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  try {
    const listTools = async () => (await client.listTools()).tools;
    await expectTools({ listTools, call: (params) => client.callTool(params as never) }, true);
    await expect.poll(() => said, { timeout: 10_000 }).toMatch(/"tool":"chimech\/query".*"tool call"/);
  } finally {
    await client.close();
  }
});

/** The examples of a page for clients of MCP, in the order of the page: with an address, and with a command. */
const shownServers = async () => {
  const page = await readFile(new URL('../../docs/chimech.md', import.meta.url), 'utf8');
  const blocks = codeBlocks(page).filter(({ language, code }) => language === 'json' && code.includes('mcpServers'));
  return blocks.map(({ code }) => (JSON.parse(code) as { mcpServers: { chimech: object } }).mcpServers.chimech);
};

verifies('chimech.clients', 'as the page configures Cursor and Claude Desktop', async () => {
  const [cursor, desktop] = (await shownServers()) as [{ url: string }, { command: string; args: string[] }];
  expect(cursor).toEqual({ url: 'http://127.0.0.1:8002/mcp' });
  const address = cursor.url.replace('http://127.0.0.1:8002', chimech.url);
  const overHttp = new OldClient({ name: 'cursor', version: '1' });
  await overHttp.connect(new OldHttpTransport(new URL(address)));
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const overStdio = new OldClient({ name: 'claude', version: '1' });
  const args = desktop.args.map((argument) => argument.replace('/path/to/signalbox', root));
  // What the client passes on, and nothing of this process.
  const env = { PATH: process.env['PATH']!, HOME: templates, CHIMECH_GATEWAY_URL: box.url };
  await overStdio.connect(new OldTransport({ command: desktop.command, args, cwd: templates, env, stderr: 'ignore' }));
  try {
    for (const client of [overHttp, overStdio]) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(names);
      const answered = await client.callTool({ name: 'chimech/query', arguments: { question: 'Why?' } });
      expect(text(answered as { content: unknown })).toBe('answer 2');
    }
  } finally {
    await Promise.all([overHttp.close(), overStdio.close()]);
  }
});

verifies('chimech.query', 'from a chat, through the worker and back to the gateway', async () => {
  const answer = await postJson(`${box.url}/v1/chat/completions`, {
    messages: [{ role: 'user', content: 'What is MCP? Ask chimech.' }],
    tools: [{ type: 'mcp', server_label: 'chimech' }],
  });
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  expect(choices[0]!.message.content).toBe('It said: answer 2');
  const [inner] = box.upstream.requests.filter(({ body }) => JSON.stringify(body).includes('knowledge workers'));
  expect(inner!.body).not.toHaveProperty('tools');
});

verifies('chimech.keys', 'over HTTP, with the origin of a page', async () => {
  const ask = (headers: Record<string, string>) =>
    postJson(`${guarded.url}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers);
  const right = { authorization: `Bearer ${key}` };
  expect((await ask(right)).status).toBe(200);
  const refused = await ask({ authorization: 'Bearer wrong' });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  expect((await ask({})).status).toBe(401);
  expect((await ask({ ...right, origin: 'https://evil.example' })).status).toBe(403);
});

verifies('chimech.keys', 'no start on an open address without one', async () => {
  const environment = { CHIMECH_PORT: '0', HOST: '0.0.0.0', PATH: process.env['PATH']! };
  const { code, stdout, stderr } = await runProgram(process.execPath, [main], { env: environment });
  expect([code, `${stdout}${stderr}`]).toEqual([1, expect.stringContaining('set CHIMECH_API_KEY')]);
});

verifies('chimech.analyze-and-search', 'over HTTP', async () => {
  const documents = join(templates, 'documents');
  await mkdir(documents);
  await writeFile(join(documents, 'tides.md'), '# Tides\n\nThe moon lifts the sea twice a day.');
  await writeFile(join(documents, '潮汐.md'), '# 潮汐\n\n月球的引力使海水每天涨落两次。');
  const imported = await runScript('kb-import', [documents], {
    env: { ...process.env, DATABASE_URL: box.databaseUrl },
    timeoutMs: 60_000,
  });
  expect(imported.code).toBe(0);
  await withClients(chimech.url, ['the 2.x client, 2026-07-28', 'the 1.x client'], async (client) => {
    const code = 'export function add(a: number, b: number) { return a > b ? a : b; }';
    const analyzed = await client.call({
      name: 'chimech/analyze',
      arguments: { content: code, type: 'code', options: { language: 'typescript', format: 'detailed' } },
    });
    expect(analyzed).toMatchObject({
      analysis: { type: 'code', structure: { functions: [{ name: 'add', complexity: 2 }] } },
      metadata: { processingTime: expect.any(Number) as number },
    });
    const wrong = await client.call({ name: 'chimech/analyze', arguments: { content: '', type: 'text' } });
    expect(wrong).toMatchObject({ isError: true, metadata: { errorCode: 'INVALID_PARAMS' } });
    for (const [query, title] of [
      ['moon sea', 'Tides'],
      ['月球引力', '潮汐'],
      ['"twice a day"', 'Tides'],
    ] as const) {
      const found = await client.call({ name: 'chimech/search', arguments: { query } });
      expect(found).toMatchObject({ structuredContent: { total: 1, hits: [{ title }] } });
      expect(text(found)).toContain(title);
    }
    const backwards = { dateRange: { start: '2026-02-01', end: '2026-01-01' } };
    const bad = await client.call({ name: 'chimech/search', arguments: { query: 'x', filters: backwards } });
    expect(bad).toMatchObject({ isError: true, metadata: { errorCode: 'INVALID_PARAMS' } });
  });
  expect(await (await fetch(`${chimech.url}/metrics`)).text()).toContain('chimech_kb_documents 2');
});

verifies('chimech.key-rotation', 'the log and the metric of a process', async () => {
  await guarded.logged(({ level, message }) => level === 'warn' && String(message).includes('due for rotation'));
  const metrics = await (await fetch(`${guarded.url}/metrics`)).text();
  expect(metrics).toContain('chimech_api_key_rotation_due 1');
  expect(await (await fetch(`${chimech.url}/metrics`)).text()).toContain('chimech_api_key_rotation_due 0');
});

verifies('chimech.metrics', 'after calls that went well and wrong', async () => {
  const lines = (await (await fetch(`${chimech.url}/metrics`)).text()).split('\n');
  for (const start of [
    'chimech_tool_calls_total{tool="chimech/query",outcome="ok",code=""}',
    'chimech_tool_calls_total{tool="chimech/query",outcome="error",code="INVALID_QUESTION"}',
    'chimech_tool_duration_seconds_count{tool="chimech/query"}',
    'chimech_overhead_seconds_count{tool="chimech/query"}',
    'chimech_tokens_total',
    'process_resident_memory_bytes',
  ]) {
    const line = lines.find((each) => each.startsWith(start));
    expect(Number(line?.split(' ').at(-1)), start).toBeGreaterThan(0);
  }
  const forwarded = await fetch(`${chimech.url}/metrics`, { headers: { 'x-forwarded-for': '10.0.0.9' } });
  expect(forwarded.status).toBe(403);
  for (const path of ['/health/live', '/health/ready']) {
    expect(await (await fetch(`${chimech.url}${path}`)).json()).toMatchObject({ status: 'ok' });
  }
});

verifies(
  'chimech.started-with-all',
  'with the offline model, which says what it is',
  async () => {
    const whole = await startWhole({ POLICY_DEFAULT: 'allow' });
    try {
      await toolsReady(whole.url);
      const answer = await postJson(`${whole.url}/api/tools/call`, {
        name: 'chimech/query',
        arguments: { question: 'What is the capital of France?' },
      });
      const result = (await answer.json()) as object;
      expect(result).toMatchObject({ success: true });
      expect(JSON.stringify(result)).toMatch(/offline/i);
      const analyzed = await postJson(`${whole.url}/api/tools/call`, {
        name: 'chimech/analyze',
        arguments: { content: 'Rivers carry water to the sea.', type: 'text' },
      });
      expect(JSON.stringify(await analyzed.json())).toMatch(/"summary_by":"extract"/);
    } finally {
      whole.kill('SIGTERM');
      await whole.ended;
      await whole.remove();
    }
  },
  90_000,
);
