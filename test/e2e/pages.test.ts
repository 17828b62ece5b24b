// The README, the pages of docs/ and the examples: everything that they show is done as a reader does it, on what `npm start`
// starts without settings. After intended changes, `npx vitest run -u --project e2e test/e2e/pages.test.ts` and Prettier
// update the pages.
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { type DefaultInstall, openDefaultInstall, pythonHas } from '../support/default-install.js';
import { codeBlocks } from '../support/markdown-blocks.js';
import { type Follow, pageAsRun } from '../support/page-examples.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const patience = 180_000;

/** For all pages that set nothing. */
let plain: DefaultInstall;

beforeAll(async () => {
  plain = await openDefaultInstall();
  await plain.start();
}, 90_000);
afterAll(() => plain?.close());

const read = (path: string) => readFile(join(root, path), 'utf8');

/** Blocks that are not done here, by their beginning, and why. */
const elsewhere: [beginning: RegExp, why: string][] = [
  [/^\{\s+"mcpServers"/, 'the test of mcp.client-entries connects them'],
  [/^mcpServers:\n {2}chimech:\n {4}url/, 'it needs a Chimech elsewhere: test/e2e/acting-for-callers.test.ts has one'],
  [/^cp -a \.data/, 'it replaces the checkout'],
  [/^npm run tools -- add /, 'test/e2e/tools-add.test.ts adds servers of such files'],
  [/^(\$ )?npm run -s doctor -- server crm/, 'test/e2e/doctor-server.test.ts has servers that are told who calls'],
  [/^openssl /, 'checkpoints are signed every 30 seconds: the tests of the audit have keys'],
  [/^npx @modelcontextprotocol\/inspector/, 'npm downloads it'],
  [/^(mkdir box|node node_modules\/signalbox)/, 'test/deploy/package.test.ts makes and installs the package'],
  [/^(docker compose|kubectl) /, 'test/deploy and test/containers read and run those'],
  [/^<function_(call|result)>/, 'what a model without tools writes, and what it is sent'],
  [/^The model provider/, 'test/e2e/first-model.test.ts has providers that cannot be had'],
  [/^x-ratelimit-/, 'test/e2e/limits.test.ts has a key with limits'],
  [/^\{\n {2}"data": \[\n {4}\{\n {6}"key"/, 'test/e2e/budgets.test.ts asks for the usage of a key'],
  [/^const keys = createRemoteJWKSet/, 'test/e2e/identity.test.ts has a server that checks statements'],
  [
    /^\{\n {2}"role": "user",\n {2}"content": \[/,
    'test/e2e/offers-api.test.ts has a server with resources and prompts',
  ],
];

async function expectPage(path: string, install: DefaultInstall, follow: Follow = install.follow): Promise<void> {
  await install.newTerminal();
  const asRun = await pageAsRun(await read(path), async (block) =>
    elsewhere.some(([beginning]) => beginning.test(block.code)) ? null : follow(block),
  );
  await expect(asRun).toMatchFileSnapshot(join(root, path));
  expect(await install.changes()).toBe('');
}

verifies('chat.examples', 'docs/api.md', () => expectPage('docs/api.md', plain));

const details = [
  'mcp',
  'chat-apis',
  'models',
  'audit',
  'limits',
  'program',
  'chimech',
  'chimech-knowledge',
  'chimech-analyze',
];

for (const page of ['getting-started-openai', ...details]) {
  verifies('docs.pages', `docs/${page}.md`, () => expectPage(`docs/${page}.md`, plain), patience);
}

const entry = z.union([
  z.strictObject({ url: z.url() }),
  z.strictObject({ command: z.string(), args: z.array(z.string()) }),
]);
const entries = z.strictObject({ mcpServers: z.record(z.string(), entry) });

for (const page of ['README.md', 'docs/mcp.md', 'docs/getting-started-mcp.md']) {
  verifies('mcp.client-entries', page, async () => {
    const blocks = codeBlocks(await read(page)).filter(({ code }) => code.includes('"mcpServers"'));
    const servers = blocks.flatMap(({ code }) => Object.values(entries.parse(JSON.parse(plain.here(code))).mcpServers));
    expect(servers.length).toBeGreaterThan(1);
    for (const server of servers) {
      const client = new Client({ name: 'judge', version: '1' });
      await client.connect(transportTo(server));
      const searches = 'url' in server && server.url.endsWith('?mode=search');
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain(
        searches ? 'find_tools' : 'write_file',
      );
      await client.close();
    }
  });
}

function transportTo(server: z.output<typeof entry>) {
  // What such a client passes on, and nothing of this process.
  if ('command' in server)
    return new StdioClientTransport({ ...server, env: plain.environment, cwd: '/', stderr: 'ignore' });
  const url = new URL(server.url);
  return url.pathname === '/sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

verifies(
  'client.readme',
  'as a package of its own, in a program that has only the libraries of a browser',
  async () => {
    const path = 'clients/typescript/README.md';
    const consumer = join(plain.checkout, '../consumer');
    await mkdir(consumer);
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2022', 'dom'],
      module: 'nodenext',
      types: [],
      strict: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
    };
    await writeFile(join(consumer, 'package.json'), '{"type":"module"}');
    await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    const examples = codeBlocks(await read(path)).filter(({ language }) => language === 'ts');
    expect(examples.length).toBeGreaterThan(5);
    for (const { code, number } of examples) await writeFile(join(consumer, `${number}.ts`), plain.here(code));
    await expectPage(path, plain, async (block) => {
      if (block.language === 'ts') return plain.run(`node ${block.number}.js`);
      if (!block.code.startsWith('npm pack')) return block.language === '' ? null : plain.follow(block);
      await plain.run(`cd ${consumer}`);
      const printed = await plain.run(block.code);
      await symlink(join(root, 'node_modules/openai'), join(consumer, 'node_modules/openai'));
      await plain.run(`node ${join(root, 'node_modules/typescript-7/bin/tsc')} -p .`);
      return printed;
    });
  },
  patience,
);

for (const [library, program] of [
  ['requests', 'with_requests.py'],
  ['openai', 'with_openai.py'],
] as const) {
  const missing = pythonHas(library) ? '' : ', which is not installed: compiled';
  verifies('docs.python-examples', `${library}${missing}`, async () => {
    const path = join(root, 'examples/python', program);
    await plain.newTerminal();
    if (missing !== '') {
      await plain.run(`python3 -c 'import ast, sys; ast.parse(sys.stdin.read())' < ${path}`);
      return;
    }
    const printed = await plain.run(`python3 ${path} http://127.0.0.1:8000`);
    await expect(`${printed}\n`).toMatchFileSnapshot(path.replace('.py', '.txt'));
  });
}

// The last on this machine: the README names a tool server, and after the other page every request needs a key.
for (const page of ['README.md', 'docs/keys.md']) verifies('docs.pages', page, () => expectPage(page, plain), patience);

/** Each on a machine of its own. */
for (const page of [
  'getting-started-mcp',
  'approvals',
  'policy',
  'own-tools',
  'tool-servers',
  'getting-started-operator',
]) {
  verifies(
    'docs.pages',
    `docs/${page}.md`,
    async () => {
      const install = await openDefaultInstall();
      try {
        // The operator's page starts it by itself, with settings.
        if (page !== 'getting-started-operator') await install.start();
        await expectPage(`docs/${page}.md`, install);
        // Upgrading is for those who have got so far.
        if (page === 'getting-started-operator') await expectPage('docs/upgrading.md', install);
      } finally {
        await install.close();
      }
    },
    patience,
  );
}
