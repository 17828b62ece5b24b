// The pages for newcomers, the README of the client library, and the examples in Python: everything that they show is run
// against one `npm start`. After intended changes, `npx vitest run -u --project e2e test/e2e/getting-started.test.ts` and
// Prettier update the pages.
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { eventually } from '#libs/testing/eventually.js';
import { type TemporaryDirectory, temporaryDirectory } from '#libs/testing/services/start-process.js';
import { codeBlocks } from '../support/markdown-blocks.js';
import { address, type Block, pageAsRun } from '../support/page-examples.js';
import { canRun, runProgram } from '../support/run-program.js';
import { startWhole, type WholeStart } from '../support/whole-start.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pythonWith = (module: string) => canRun('python3', ['-c', `import ${module}`]);
const packages = { openai: pythonWith('openai'), requests: pythonWith('requests') };

let whole: WholeStart;
/** As a checkout looks to the commands of a page: what they read of it, and what they leave. */
let checkout: TemporaryDirectory;
let environment: Record<string, string>;

beforeAll(async () => {
  checkout = await temporaryDirectory();
  for (const name of ['package.json', 'dist', 'node_modules', 'scripts'])
    await symlink(join(root, name), join(checkout.path, name));
  const blocks = codeBlocks(await read('docs/getting-started-operator.md'));
  const settings = blocks.find(({ language }) => language === 'yaml')!.code;
  await writeFile(join(checkout.path, 'signalbox.yaml'), settings);
  whole = await startWhole({ DATA_DIR: checkout.path });
  environment = {
    DATA_DIR: checkout.path,
    PORT: new URL(whole.url).port,
    PYTHONPATH: process.env['PYTHONPATH'] ?? '',
    PYTHONDONTWRITEBYTECODE: '1',
    npm_config_update_notifier: 'false',
  };
  await everyToolReady();
}, 90_000);
afterAll(async () => {
  whole?.kill('SIGTERM');
  await whole?.ended;
  await checkout?.remove();
});

/** Those of both servers that `npm start` has. */
const everyToolReady = () =>
  eventually(async () => {
    const { data } = (await (await fetch(`${whole.url}/api/tools`)).json()) as { data: { server: string }[] };
    return ['chimech', 'workspace'].every((name) => data.some(({ server }) => server === name));
  }, 30_000);

const read = (path: string) => readFile(join(root, path), 'utf8');

/** Writes a program of the page with the address of this gateway, and returns the command that runs it. */
async function program(name: string, text: string, interpreter: string): Promise<string> {
  await writeFile(join(checkout.path, name), text.replaceAll(address, whole.url));
  return `${interpreter} ${name}`;
}

async function expectPage(
  path: string,
  commandOf: (block: Block) => Promise<string | undefined | null>,
): Promise<void> {
  const stage = { url: whole.url, directory: checkout.path, environment, commandOf };
  await expect(await pageAsRun(await read(path), stage)).toMatchFileSnapshot(join(root, path));
}

/** The blocks that most pages have. */
const commandOf =
  (page: string) =>
  async ({ language, text, number }: Block): Promise<string | undefined | null> => {
    switch (language) {
      case 'bash':
        return text;
      case 'js':
        return program(`${page}-${number}.mjs`, text, 'node');
      case 'python':
        // Without the package the program is only compiled, and its output is not compared.
        if (packages.openai) return program(`${page}-${number}.py`, text, 'python3');
        await expectCompiles(text);
        return null;
      case '':
        // The whole start above has run it, and continuous integration its `npm ci`.
        expect(text).toBe('npm ci && npm start\n');
        return null;
      default:
        return undefined;
    }
  };

async function expectCompiles(program: string): Promise<void> {
  const check = 'import ast, sys; ast.parse(sys.stdin.read())';
  expect(await runProgram('python3', ['-c', check], { input: program })).toMatchObject({ code: 0, stderr: '' });
}

verifies('docs.getting-started', 'with an OpenAI SDK', () =>
  expectPage('docs/getting-started-openai.md', commandOf('openai')),
);

verifies('docs.getting-started', 'with an MCP client', () => {
  const others = commandOf('mcp');
  return expectPage('docs/getting-started-mcp.md', async (block) => {
    if (!block.text.includes('"mcpServers"')) return others(block);
    // scripts/client-entries.test.ts reads these; the page runs the same address and command below.
    return null;
  });
});

verifies(
  'client.readme',
  'as a package of its own, in a program that has only the libraries of a browser',
  async () => {
    const consumer = join(checkout.path, 'consumer');
    const installed = join(consumer, 'node_modules/@signalbox/client');
    await mkdir(installed, { recursive: true });
    await copyFile(join(root, 'clients/typescript/package.json'), join(installed, 'package.json'));
    const build = [
      'run',
      '-s',
      'build',
      '--prefix',
      join(root, 'clients/typescript'),
      '--',
      '--outDir',
      `${installed}/dist`,
    ];
    expect(await runProgram('npm', build, { timeoutMs: 60_000 })).toMatchObject({ code: 0, stdout: '' });
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
    const path = 'clients/typescript/README.md';
    const examples = codeBlocks(await read(path)).filter(({ language }) => language === 'ts');
    expect(examples.length).toBeGreaterThan(5);
    await Promise.all(
      examples.map(({ code }, at) => writeFile(join(consumer, `${at}.ts`), code.replaceAll(address, whole.url))),
    );
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    const compiled = await runProgram(process.execPath, [compiler, '-p', consumer], { timeoutMs: 60_000 });
    expect(compiled).toMatchObject({ code: 0, stdout: '' });
    let at = 0;
    await expectPage(path, async ({ language }) => {
      if (language === 'ts') return `node consumer/${at++}.js`;
      return language === '' ? null : undefined;
    });
  },
);

for (const [library, program] of [
  ['requests', 'with_requests.py'],
  ['openai', 'with_openai.py'],
] as const) {
  verifies(
    'docs.python-examples',
    packages[library] ? library : `${library}, which is not installed: compiled`,
    async () => {
      const path = join(root, 'examples/python', program);
      if (!packages[library]) return expectCompiles(await readFile(path, 'utf8'));
      const { code, stdout, stderr } = await runProgram('python3', [path, whole.url], { timeoutMs: 60_000 });
      expect(stderr).toBe('');
      expect(code).toBe(0);
      await expect(stdout).toMatchFileSnapshot(join(root, `examples/python/${program.replace('.py', '.txt')}`));
    },
  );
}

// Last: after it every request needs a key.
verifies('docs.getting-started', 'as an operator', () => {
  const others = commandOf('operator');
  return expectPage('docs/getting-started-operator.md', async (block) =>
    // The whole start above has it.
    block.language === 'yaml' ? null : others(block),
  );
});

verifies('docs.getting-started', 'upgrading', () => {
  const others = commandOf('upgrading');
  return expectPage('docs/upgrading.md', async (block) =>
    // They replace the checkout, and start what runs here already.
    ['cp -a .data', 'npm start'].some((command) => block.text.startsWith(command)) ? null : others(block),
  );
});
