// `npm run recall`: how often the search finds the right tool, over definitions of tool servers from npm, which it installs and starts
// but never calls. Writes the figures into docs/tool-search.md. Exit codes: 0 written, 1 nothing could be measured.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { definitionTokens } from '#libs/tool-search/definition-tokens.js';
import { type SearchableTool, ToolIndex } from '#libs/tool-search/tool-index.js';
import { judge, idOf, type JudgedQuestion } from './tool-recall/judge-search.js';
import { type CollectedTools, listTools, type PackagedServer } from './tool-recall/list-tools.js';
import { readQuestions } from './tool-recall/read-questions.js';
import { renderRecall, withRecall } from './tool-recall/render-recall.js';

const page = 'docs/tool-search.md';
const directory = 'test/tool-recall';
/** Definitions are texts of their authors: they are kept on this machine, and in no repository. */
const cache = '.data/tool-recall';
const kept = `${cache}/definitions.json`;
const rounds = 10;

const { values: options } = parseArgs({
  options: {
    /** Prints what was found in place of the right tool, for questions that are not held out; writes nothing. */
    misses: { type: 'boolean', default: false },
  },
});

const listed = await definitions();
const questions = readQuestions(directory);
const index = new ToolIndex(listed.tools);
const judged = judge(index, questions);
const lines = renderRecall({
  judged,
  servers: new Set(listed.tools.map(({ server }) => server)).size,
  tools: listed.tools.length,
  allTokens: sumOf(listed.tools.map(definitionTokens)),
  foundTokens: foundTokens(),
  queriesPerSecond: queriesPerSecond(),
  failed: listed.failed,
});
console.log(lines.join('\n'));
if (options.misses) for (const each of judged) tellMiss(each);
else {
  const text = withRecall(readFileSync(page, 'utf8'), lines);
  writeFileSync(page, await format(text, { ...(await resolveConfig(page)), parser: 'markdown' }));
}

/** Listed once for each set of packages: to start the servers takes minutes. */
async function definitions(): Promise<CollectedTools> {
  const sources = [`${directory}/package.json`, `${directory}/servers.json`].map((path) => readFileSync(path));
  const madeFrom = createHash('sha256').update(Buffer.concat(sources)).digest('hex');
  if (existsSync(kept)) {
    const before = JSON.parse(readFileSync(kept, 'utf8')) as CollectedTools & { madeFrom: string };
    if (before.madeFrom === madeFrom) return before;
  }
  mkdirSync(cache, { recursive: true });
  copyFileSync(`${directory}/package.json`, `${cache}/package.json`);
  execFileSync('npm', ['install', '--prefix', cache, '--no-package-lock', '--ignore-scripts', '--omit=optional'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  const servers = JSON.parse(sources[1]!.toString()) as Record<string, PackagedServer>;
  const now = await listTools(servers, resolve(cache, 'node_modules'));
  writeFileSync(kept, JSON.stringify({ madeFrom, ...now }));
  return now;
}

function foundTokens(): number {
  const byId = new Map(listed.tools.map((tool) => [idOf(tool), tool]));
  const tokensOf = (id: string) => definitionTokens(byId.get(id) as SearchableTool);
  return sumOf(judged.map(({ found }) => sumOf(found.slice(0, 5).map(tokensOf)))) / judged.length;
}

function queriesPerSecond(): number {
  const began = performance.now();
  for (let round = 0; round < rounds; round += 1)
    for (const { question } of questions) index.find(question, { limit: 5 });
  return (1_000 * rounds * questions.length) / (performance.now() - began);
}

function tellMiss({ question, tools, found, rank, held_out: heldOut }: JudgedQuestion): void {
  if (heldOut === true || (rank !== undefined && rank <= 5)) return;
  console.log(
    `\n${question}\n  right, at ${rank ?? 'no place'}: ${tools.join(', ')}\n  found: ${found.slice(0, 5).join(', ')}`,
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}
