// The bodies of test/golden held against the types of the official SDKs: what we send is what they would send, the answers
// that our readers are given are what they would read, and what a caller gets is what OpenAI's reads. The compiler
// judges, members that a type does not know included.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { GoldenUpstream } from '../support/golden-provider.js';
import type { GoldenOutcome } from '../support/golden-matrix.js';
import { runProgram } from '../support/run-program.js';
import { verifies } from '../verifies.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const golden = join(root, 'test/golden');
const wires = {
  openai: 'OpenAi',
  responses: 'Responses',
  prompted: 'OpenAi',
  anthropic: 'Anthropic',
  gemini: 'Gemini',
};
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signalbox-types-'));
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Body {
  where: string;
  type: string;
  value: unknown;
}

const read = (path: string): unknown => JSON.parse(readFileSync(join(golden, path), 'utf8'));
const isAnswer = (value: JsonObject | string): value is JsonObject =>
  typeof value === 'object' && (value['error'] ?? undefined) === undefined && value['type'] !== 'ping';

function* bodies(): Generator<Body> {
  for (const name of readdirSync(golden)) {
    for (const [family, wire] of Object.entries(wires)) {
      const where = `${name}, ${family}`;
      if (!existsSync(join(golden, name, `${family}.upstream.json`))) continue;
      for (const { chunks = [], whole } of read(`${name}/${family}.upstream.json`) as GoldenUpstream[]) {
        for (const chunk of chunks.filter(isAnswer)) yield { where, type: `${wire}Answer`, value: chunk };
        const wholeType = wire === 'Gemini' ? 'GeminiAnswer' : `${wire}Whole`;
        if (whole !== undefined) yield { where, type: wholeType, value: whole };
      }
      const { sends, gets } = read(`${name}/${family}.expected.json`) as GoldenOutcome;
      for (const { body } of sends) yield { where, type: `${wire}Request`, value: body };
      for (const answer of gets.filter(isAnswer)) yield { where, type: 'OpenAiWhole', value: answer };
    }
  }
}

/** What the compiler has against them, each with where it came from. */
async function judge(all: readonly Body[]): Promise<string[]> {
  const names = [...new Set(all.map(({ type }) => type))].join(', ');
  const lines = all.map(
    ({ type, value }, at) => `const body${at}: ${type} = ${JSON.stringify(value)}; void body${at};`,
  );
  const source = `import type { ${names} } from '${join(root, 'test/support/golden-types.js')}';`;
  writeFileSync(join(directory, 'bodies.ts'), [source, ...lines].join('\n'));
  const compilerOptions = { noEmit: true, rootDir: '/', types: [] };
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['bodies.ts'], exclude: [] };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
  const { code, stdout } = await runProgram(process.execPath, [compiler, '-p', directory, '--pretty', 'false'], {
    timeoutMs: 120_000,
  });
  const found = stdout.split('\n').filter((line) => /error TS/.test(line));
  expect(found.length > 0, stdout).toBe(code !== 0);
  return found.map((line) => {
    const at = /bodies\.ts\((\d+),/.exec(line);
    const body = at === null ? undefined : all[Number(at[1]) - 2];
    return `${body?.where ?? ''} ${body?.type ?? ''}: ${line.replace(/^.*error TS\d+: /, '')}`;
  });
}

verifies('models.families.types', 'every body of the golden matrix', async () => {
  const all = [...bodies()];
  expect(all.length).toBeGreaterThan(500);
  expect(await judge(all)).toEqual([]);
});

verifies('models.families.types', 'a member too many, or of another type, is found', async () => {
  const wrong: Body[] = [
    {
      where: '1',
      type: 'OpenAiRequest',
      value: { model: 'm', stream: true, messages: [{ role: 'user', content: 'x', blocks: [] }] },
    },
    { where: '2', type: 'AnthropicRequest', value: { model: 'm', stream: true, max_tokens: '1', messages: [] } },
    {
      where: '3',
      type: 'GeminiRequest',
      value: { contents: [{ role: 'user', parts: [{ functionCall: { arguments: {} } }] }] },
    },
    { where: '4', type: 'AnthropicAnswer', value: { type: 'content_block_stop', number: 1 } },
    { where: '5', type: 'GeminiAnswer', value: { candidates: [{ finishReason: 'END' }] } },
    { where: '6', type: 'OpenAiAnswer', value: { choices: [{ index: 0, delta: { text: 'x' }, finish_reason: null }] } },
    {
      where: '7',
      type: 'ResponsesRequest',
      value: { model: 'm', stream: true, input: [{ type: 'function_call_output', call_id: 'c', content: 'x' }] },
    },
    { where: '8', type: 'ResponsesAnswer', value: { type: 'response.completed', response: { outputs: [] } } },
  ];
  const found = (await judge(wrong)).map((line) => line.slice(0, 1));
  expect(found).toEqual(wrong.map(({ where }) => where));
});
