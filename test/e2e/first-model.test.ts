// The first minutes with a model of one's own: settings in `.env`, a provider that cannot be had, and one that comes back. And
// every command reads `.env`.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { eventually } from '../support/eventually.js';
import { startScriptedUpstream } from '../support/scripted-upstream.js';
import { freePort } from '../support/services/free-port.js';
import { type TemporaryDirectory, temporaryDirectory } from '../support/services/start-process.js';
import { runProgram, runScript } from '../support/run-program.js';
import { startWhole, type WholeStart } from '../support/whole-start.js';
import { verifies } from '../verifies.js';

let directory: TemporaryDirectory;
let whole: WholeStart;
let port: number;

beforeAll(async () => {
  directory = await temporaryDirectory();
  port = await freePort();
  await writeFile(
    join(directory.path, '.env'),
    `# of a test\nOLLAMA_BASE_URL="http://127.0.0.1:${port}"\nLOG_LEVEL=debug\nDATA_DIR=/nowhere\n`,
  );
  whole = await startWhole({ DATA_DIR: directory.path });
}, 120_000);
afterAll(async () => {
  whole?.kill('SIGTERM');
  await whole?.ended;
  await directory?.remove();
});

const sentence = () =>
  `The model provider 'ollama' cannot be reached at http://127.0.0.1:${port}: connection refused. Start Ollama, or set OLLAMA_BASE_URL.`;

interface Answer {
  model?: string;
  choices?: { message: { content: string } }[];
  error?: { type: string; code: string; message: string };
}

async function chat(body: object, path = '/v1/chat/completions'): Promise<[number, Answer]> {
  const messages = [{ role: 'user', content: 'Hello' }];
  const answer = await fetch(`${whole.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages, ...body }),
  });
  return [answer.status, (await answer.json()) as Answer];
}

async function modelsCheck() {
  const answer = await fetch(`${whole.url}/health/ready`);
  const { checks } = (await answer.json()) as { checks: { name: string; status: string; reason?: string }[] };
  return [answer.status, checks.find(({ name }) => name === 'models')] as const;
}

verifies('models.away', 'said by the start, the log, readiness and every door; the offline model answers', async () => {
  const output = whole.output.join('');
  expect(output).toContain(`"message":"${sentence()}"`);
  expect(output.slice(output.indexOf('Signalbox is ready'))).toContain(
    `  model          ollama\n${' '.repeat(17)}${sentence()}`,
  );
  expect(await modelsCheck()).toMatchObject([200, { status: 'degraded', reason: sentence() }]);
  for (const [path, body] of [
    ['/v1/chat/completions', {}],
    ['/v1/chat/completions', { model: 'llama3.2' }],
    ['/v1/chat/completions', { model: 'default' }],
    ['/v1/messages', { max_tokens: 10 }],
    ['/v1/messages', { model: 'default', max_tokens: 10 }],
    ['/v1/responses', { input: 'Hello', messages: undefined }],
    ['/v1/responses', { model: 'default', input: 'Hello', messages: undefined }],
  ] as const) {
    const [status, answer] = await chat(body, path);
    expect([status, answer.error?.message], path).toEqual([502, sentence()]);
  }
  expect(await chat({ model: 'offline' })).toMatchObject([200, { model: 'offline' }]);
});

verifies('models.away', 'once it is there it answers, and readiness says so', async () => {
  const upstream = await startScriptedUpstream(() => ({ text: 'here' }), {
    port,
    models: ['nomic-embed', 'llama3.2:latest'],
  });
  try {
    await eventually(async () => (await modelsCheck())[1]?.status === 'ok', 30_000);
    for (const body of [{}, { model: 'default' }]) {
      const [status, answer] = await chat(body);
      expect([status, answer.choices?.[0]?.message.content]).toEqual([200, 'here']);
      expect(upstream.requests.at(-1)?.body['model']).toBe('llama3.2:latest');
    }
    expect(whole.output.join('')).toContain('a model provider is reachable again');
  } finally {
    await upstream.close();
  }
});

verifies('operations.env-file', 'npm start and its parts; the environment wins', () => {
  const output = whole.output.join('');
  // DATA_DIR of the file is not used, LOG_LEVEL is.
  expect(output).toContain(`embedded PostgreSQL, in ${directory.path}\n`);
  for (const service of ['gateway', 'worker']) expect(output).toMatch(new RegExp(`"level":"debug".*"${service}"`));
  expect(output).toContain(`${join(directory.path, '.env')}\n`);
});

verifies(
  'operations.env-file',
  'every command reads it',
  async () => {
    const broken = await temporaryDirectory();
    try {
      await writeFile(join(broken.path, '.env'), 'PORT=8000\nsk-canary\n');
      const options = { cwd: broken.path, env: { PATH: process.env['PATH'] } };
      const scripts: [string, string[]][] = [
        ['start', []],
        ['config', ['check']],
        ['keys', ['list']],
        ['policy', ['explain', '--tool', 'workspace/read_file']],
        ['audit', ['verify']],
        ['replay', ['run_1']],
        ['migrate', []],
        ['kb-import', [broken.path]],
        ['mcp-stdio', []],
      ];
      for (const [name, args] of scripts) {
        const { code, stderr } = await runScript(name, args, options);
        expect(stderr, name).toContain('.env:2: is neither NAME=value nor a comment');
        expect([name, code === 0, /canary|\n {4}at /.test(stderr)]).toEqual([name, false, false]);
      }
      for (const app of ['gateway', 'worker', 'chimech']) {
        const main = fileURLToPath(new URL(`../../dist/apps/${app}/main.js`, import.meta.url));
        const { code, stderr } = await runProgram(process.execPath, [main], options);
        expect([app, code, stderr]).toEqual([app, 1, expect.stringContaining('.env:2: is neither') as string]);
      }
    } finally {
      await broken.remove();
    }
  },
  120_000,
);
