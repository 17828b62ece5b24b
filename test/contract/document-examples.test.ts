// The TypeScript of all documents, compiled together in strict mode as in a project of a reader, and their JavaScript, parsed.
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/services/start-process.js';
import { codeBlocks } from '../support/markdown-blocks.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const documents = ['.', 'docs', 'docs/adr', 'clients/typescript'].flatMap((directory) =>
  readdirSync(join(root, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name)),
);
const blocks = documents.flatMap((page) => {
  const markdown = readFileSync(join(root, page), 'utf8');
  return codeBlocks(markdown).map((block, at) => {
    // So that messages of the compiler have the lines of the page.
    const before = '\n'.repeat(markdown.slice(0, markdown.indexOf(block.code)).split('\n').length - 1);
    return { ...block, code: before + block.code, page, name: block.file ?? `${at}.ts` };
  });
});
const inLanguage = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

/** What the packages of a reader's project are. */
const paths = {
  '@signalbox/client': [join(root, 'clients/typescript/src/index.ts')],
  '@signalbox/client/openai': [join(root, 'clients/typescript/src/openai.ts')],
  'signalbox/libs/*.js': [join(root, 'libs/*.ts')],
  '#libs/*.js': [join(root, 'libs/*.ts')],
};

/** What the compiler says of these files, in one compilation. */
async function compiled(files: readonly { page: string; name: string; code: string }[]): Promise<string[]> {
  const directory = await temporaryDirectory();
  try {
    symlinkSync(join(root, 'node_modules'), join(directory.path, 'node_modules'));
    for (const { page, name, code } of files) {
      const path = join(directory.path, page, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, code);
    }
    const compilerOptions = {
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable'],
      module: 'nodenext',
      moduleDetection: 'force',
      types: ['node'],
      strict: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
      experimentalDecorators: true,
      skipLibCheck: true,
      noEmit: true,
      paths,
    };
    writeFileSync(join(directory.path, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory.path, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    const end = await runProgram(process.execPath, [compiler, '-p', '.'], { cwd: directory.path, timeoutMs: 60_000 });
    expect(end.stderr).toBe('');
    return end.stdout.split('\n').filter((line) => line !== '');
  } finally {
    await directory.remove();
  }
}

verifies('docs.code', 'TypeScript', async () => {
  const examples = inLanguage('ts', 'typescript', 'tsx');
  const pages = new Set(examples.map(({ page }) => page));
  for (const page of ['clients/typescript/README.md', 'docs/own-tools.md']) expect(pages).toContain(page);
  expect(await compiled(examples)).toEqual([]);
});

verifies('docs.code', 'JavaScript', () => {
  const examples = inLanguage('js', 'javascript');
  expect(examples.length).toBeGreaterThan(5);
  const problems = examples.flatMap(({ page, code }) => {
    const { diagnostics } = ts.transpileModule(code, { reportDiagnostics: true, fileName: `${page}.js` });
    return diagnostics!.map(({ messageText }) => `${page}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  });
  expect(problems).toEqual([]);
});

test('what does not compile is found', async () => {
  const example = inLanguage('ts').find(({ code }) => code.includes("from 'openai'"));
  const spoilt = { ...example!, code: example!.code.replace('server_label', 'server_labl') };
  const [first] = await compiled([spoilt]);
  expect(first).toMatch(/README\.md\/\S+\.ts\(\d+,\d+\): error/);
});
