// How often the right tool is found: over the definitions that are kept here, in the page that has the figures of all, and what the command
// makes them of.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createTestServer } from '#libs/testing/test-server.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { type SearchableTool, ToolIndex } from '#libs/tool-search/tool-index.js';
import { FileTools } from '../../apps/worker/builtin/file-tools.js';
import { SearchTools } from '../../apps/worker/builtin/search-tools.js';
import { openChimechServer } from '../../test/support/chimech-server.js';
import { verifies } from '../../test/verifies.js';
import { idOf, isInChinese, judge, type JudgedQuestion, type SearchQuestion, recallOf } from './judge-search.js';
import { listTools } from './list-tools.js';
import { readQuestions } from './read-questions.js';
import { renderRecall, withRecall } from './render-recall.js';

const definitions = 'test/fixtures/tool-definitions';
const asked = readQuestions('test/tool-recall');
const questions = asked.filter(({ set }) => set === undefined);
const page = readFileSync('docs/tool-search.md', 'utf8');

/** Servers have the names that the questions know them by. */
const nameOf = (file: string) =>
  file.replace('.json', '').replace(/^(?:server|upstash|notionhq)-|(?:-developer|-mcp).*$/g, '');

function recordedTools(): SearchableTool[] {
  return readdirSync(definitions).flatMap((file) => {
    const { tools } = JSON.parse(readFileSync(join(definitions, file), 'utf8')) as {
      tools: { name: string; description?: string; inputSchema: JsonObject }[];
    };
    return tools.map((tool) => ({ description: '', ...tool, server: nameOf(file), tool: tool.name }));
  });
}

async function ownTools(): Promise<SearchableTool[]> {
  const servers = {
    workspace: await createTestServer([new FileTools(1_000), new SearchTools(1_000)]),
    chimech: await openChimechServer(),
  };
  const lists = Object.entries(servers).map(async ([name, server]) => {
    const { tools } = await server.client.listTools();
    await server.close();
    return tools.map(({ description = '', ...tool }) => ({
      server: name,
      tool: tool.name,
      name: tool.name,
      description,
      inputSchema: tool.inputSchema as JsonObject,
    }));
  });
  return (await Promise.all(lists)).flat();
}

verifies('tools.search.recall', 'over the definitions that are kept here, and those of our own servers', async () => {
  const tools = [...recordedTools(), ...(await ownTools())];
  const known = new Set(tools.map(idOf));
  const answered = questions.filter(({ tools: right }) => right.some((id) => known.has(id)));
  const judged = judge(new ToolIndex(tools), answered);
  for (const half of [judged.filter(isInChinese), judged.filter((each) => !isInChinese(each))]) {
    expect(half.length).toBeGreaterThan(25);
    expect(recallOf(half).at5).toBeGreaterThanOrEqual(0.9);
  }
});

verifies('tools.search.recall', 'as docs/tool-search.md has it, of more than 500 tools and 200 questions', () => {
  const [, tools, servers, number] = /([\d,]+) tools of (\d+) servers, (\d+) questions\./.exec(page)!;
  expect(Number(tools!.replace(',', ''))).toBeGreaterThan(500);
  expect(Number(servers)).toBeGreaterThan(30);
  expect(Number(number)).toBe(asked.length);
  for (const language of ['English', 'Chinese']) {
    const cells = new RegExp(String.raw`\| held out +\| ${language} +\| 50 +\| [\d.]+ +\| ([\d.]+) `).exec(page)!;
    expect(Number(cells[1])).toBeGreaterThanOrEqual(0.9);
  }
});

test('the questions are of both languages, half of each is held out, and each names its tools', () => {
  expect(questions.length).toBe(200);
  expect(questions.filter(isInChinese).length).toBe(100);
  for (const isOfLanguage of [isInChinese, (each: SearchQuestion) => !isInChinese(each)])
    expect(questions.filter((each) => isOfLanguage(each) && each.held_out === true).length).toBe(50);
  const servers = Object.keys(JSON.parse(readFileSync('test/tool-recall/servers.json', 'utf8')) as JsonObject);
  for (const set of ['A', 'B']) expect(asked.filter((each) => each.set === set && isInChinese(each)).length).toBe(50);
  for (const { tools } of asked) for (const id of tools) expect(servers).toContain(id.split('/')[0]);
});

const question = (text: string, rank?: number, heldOut = false): JudgedQuestion => ({
  question: text,
  tools: ['a/one'],
  found: [],
  rank,
  ...(heldOut && { held_out: true }),
});

test('the figures, and their place in the page', () => {
  const judged = [question('one', 1), question('two', 6), question('三', 2, true), question('四', undefined, true)];
  const lines = renderRecall({
    judged,
    servers: 2,
    tools: 1_234,
    allTokens: 10_000,
    foundTokens: 123.4,
    queriesPerSecond: 987.6,
    failed: { broken: 'Connection closed' },
  });
  expect(lines).toContain('| improved on | English | 2 | 0.50 | 0.50 | 0.58 |');
  expect(lines).toContain('| held out | Chinese | 2 | 0.00 | 0.50 | 0.25 |');
  expect(lines).toContain('| all | both | 4 | 0.25 | 0.50 | 0.42 |');
  expect(lines.join('\n')).toContain('1,234 tools of 2 servers, 4 questions.');
  expect(lines.join('\n')).toContain('of the five that are found: 123 (1.2 %). Queries per second: 988.');
  expect(lines.at(-1)).toBe('Servers that did not start: broken.');
  const written = withRecall(page, lines);
  expect(written).toContain(lines[0]);
  expect(withRecall(written, lines)).toBe(written);
  expect(() => withRecall('# Another page', lines)).toThrow('no place');
});

const modules = await mkdtemp(join(tmpdir(), 'recall-modules-'));
afterAll(() => rm(modules, { recursive: true, force: true }));

test('servers are listed, and those that do not start are named', async () => {
  const packages: Record<string, string> = {
    starts: 'test/fixtures/tool-servers/new-sdk.mjs',
    ends: 'libs/words/none.mjs',
  };
  for (const [name, program] of Object.entries(packages)) {
    const directory = join(modules, name);
    await mkdir(directory);
    await writeFile(join(directory, 'package.json'), JSON.stringify({ bin: relative(directory, resolve(program)) }));
  }
  const { tools, failed } = await listTools({ good: { package: 'starts' }, bad: { package: 'ends' } }, modules);
  expect(tools.find(({ tool }) => tool === 'add')).toMatchObject({ server: 'good', name: 'good__add' });
  expect(Object.keys(failed)).toEqual(['bad']);
});
