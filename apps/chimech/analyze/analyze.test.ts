import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, expect } from 'vitest';
import { eventually } from '../../../test/support/eventually.js';
import { verifies } from '../../../test/verifies.js';
import { AnalysisThread } from './analysis-thread.js';
import { analyzeContent } from './analyze-content.js';
import { analyze, analyzeInput, maxContentBytes, type AnalyzeInput } from './analyze.js';

const signal = new AbortController().signal;
const run = analyzeContent;
const analyzed = (input: AnalyzeInput) => analyze(input, { signal, run });

verifies('chimech.analyze.summary', 'what summary and detailed contain', async () => {
  const content = 'Rivers carry water to the sea. Water is life.';
  const short = await analyzed({ content, type: 'text' });
  expect(Object.keys(short.analysis)).toEqual(['type', 'summary', 'summary_by', 'metrics']);
  expect(short.analysis).toMatchObject({ type: 'text', summary_by: 'extract' });
  expect(short.text).toMatch(/^Summary \(sentences of the text, without a model\): Rivers/);
  const detailed = await analyzed({ content, type: 'text', options: { format: 'detailed' } });
  expect(Object.keys(detailed.analysis)).toEqual(['type', 'summary', 'summary_by', 'keywords', 'structure', 'metrics']);
  const without = await analyzed({ content, type: 'text', options: { format: 'detailed', extractKeywords: false } });
  expect(without.analysis).not.toHaveProperty('keywords');
  const withKeywords = await analyzed({ content, type: 'text', options: { extractKeywords: true } });
  expect(withKeywords.analysis.keywords).toContain('water');
  const chinese = await analyzed({ content: '今天天气很好。我们去公园玩。', type: 'text' });
  expect(chinese.text).toMatch(/^摘要（摘自原文，未使用模型）：今天/);
  expect((await analyzed({ content: 'a,b\n1,2', type: 'data' })).analysis.summary_by).toBe('extract');
  expect(analyzeInput.safeParse({ content: 'x', type: 'picture' }).success).toBe(false);
});

verifies('chimech.analyze.summary', 'a model’s, of a bounded excerpt', async () => {
  const seen: string[] = [];
  const summarize = async (text: string) => {
    seen.push(text);
    return await Promise.resolve('In short.');
  };
  const content = `${'Rivers carry water. '.repeat(3_000)}The end.`;
  const { analysis, text } = await analyze({ content, type: 'text' }, { signal, run, summarize });
  expect(analysis).toMatchObject({ summary: 'In short.', summary_by: 'model' });
  expect(text).toMatch(/^Summary by a model: In short\./);
  expect(seen[0]!.length).toBeLessThan(25_000);
  expect(seen[0]).toMatch(/^Rivers[^]*The end\.$/);
  const none = await analyze(
    { content, type: 'text' },
    { signal, run, summarize: async () => await Promise.resolve(undefined) },
  );
  expect(none.analysis.summary_by).toBe('extract');
  const refused = analyze(
    { content, type: 'text' },
    { signal, run, summarize: () => Promise.reject(new Error('busy')) },
  );
  await expect(refused).rejects.toThrow('busy');
});

verifies('chimech.analyze.bad-content', 'empty, binary, misread, odd', async () => {
  for (const content of ['', ' \n\t', '\ufeff']) {
    await expect(analyzed({ content, type: 'text' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      statusCode: 400,
    });
  }
  const utf16 = Buffer.from('Hello world', 'utf16le').toString('latin1');
  await expect(analyzed({ content: utf16, type: 'text' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
  const gbk = new TextDecoder('utf-8').decode(Uint8Array.of(0xc4, 0xe3, 0xba, 0xc3, 0xca, 0xc0, 0xbd, 0xe7));
  await expect(analyzed({ content: gbk, type: 'text' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
  const misread = Buffer.from('Café déjà vu à l’été').toString('latin1');
  expect((await analyzed({ content: misread, type: 'text' })).analysis.warnings![0]).toContain('another encoding');
  const odd = await analyzed({ content: `a lone \ud800 half and a NUL \0 in a text of some length`, type: 'text' });
  expect(odd.analysis.warnings![0]).toMatch(/^2 characters/);
  expect(JSON.stringify(odd)).not.toMatch(/\\ud800|\\u0000/);
});

verifies('chimech.analyze.bad-content', 'line ends and the byte order mark change nothing', async () => {
  const content = 'id,name\n1,a\n2,b\n';
  const plain = await analyzed({ content, type: 'data', options: { format: 'detailed' } });
  for (const other of [`\ufeff${content}`, content.replaceAll('\n', '\r\n'), content.replaceAll('\n', '\r')]) {
    expect(await analyzed({ content: other, type: 'data', options: { format: 'detailed' } })).toEqual(plain);
  }
});

verifies('chimech.analyze.bounded', 'size, nesting, and a cancelled call', async () => {
  const tooLong = { code: 'CONTEXT_TOO_LONG', details: { limit: maxContentBytes, size: maxContentBytes + 2 } };
  await expect(analyzed({ content: `${'x'.repeat(maxContentBytes - 1)}中`, type: 'text' })).rejects.toMatchObject(
    tooLong,
  );
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  await expect(analyzed({ content: deep, type: 'data' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
  const aborted = AbortSignal.abort(new Error('gone'));
  await expect(analyze({ content: 'x', type: 'text' }, { signal: aborted, run })).rejects.toThrow('gone');
});

/** What the compiler makes of Chimech: a thread runs no TypeScript. Inside the repository, so that packages are found. */
let built: string;
const chimech = dirname(import.meta.dirname);

beforeAll(() => {
  mkdirSync('node_modules/.cache', { recursive: true });
  built = mkdtempSync('node_modules/.cache/analyze-');
  writeFileSync(join(built, 'package.json'), '{"type":"module"}');
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  for (const path of readdirSync(chimech, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue;
    const to = join(built, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(to), { recursive: true });
    const source = readFileSync(join(chimech, path), 'utf8');
    writeFileSync(to, ts.transpileModule(source, { compilerOptions: options }).outputText);
  }
});

afterAll(() => rmSync(built, { recursive: true, force: true }));

const openThread = (idleMs?: number) =>
  new AnalysisThread(pathToFileURL(join(built, 'analyze/answer-tasks.js')), idleMs);
/** Recovering from so many errors takes long. */
const endless = { type: 'code', language: 'java', content: '('.repeat(maxContentBytes) } as const;
const quick = { type: 'text', content: 'Rivers carry water.' } as const;

verifies('chimech.analyze.bounded', 'what does not end is stopped, and those behind it are served', async () => {
  const thread = openThread();
  const stop = new AbortController();
  const stopped = thread.run(endless, stop.signal);
  const waiting = thread.run(quick, signal);
  const leaving = new AbortController();
  const left = thread.run(quick, leaving.signal);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  stop.abort(new Error('too late'));
  await expect(stopped).rejects.toThrow('too late');
  expect((await waiting).metrics.word_count).toBe(3);
  await thread.close();
});

verifies('chimech.analyze.bounded', 'a full queue, errors of a task, and closing', async () => {
  const thread = openThread();
  const tasks = [endless, ...Array.from({ length: 100 }, () => quick)];
  const calls = tasks.map((task) => ({ task, stop: new AbortController() }));
  const all = calls.map(({ task, stop }) => thread.run(task, stop.signal));
  const ends = Promise.allSettled(all);
  await expect(thread.run(quick, signal)).rejects.toMatchObject({ code: 'RATE_LIMIT', statusCode: 429 });
  for (const { stop } of calls) stop.abort(new Error('stopped'));
  expect((await ends).every(({ status }) => status === 'rejected')).toBe(true);
  await expect(thread.run({ ...quick, language: 'klingon' }, signal)).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
  const running = thread.run(endless, signal);
  await Promise.all([expect(running).rejects.toMatchObject({ code: 'INTERNAL_ERROR' }), thread.close()]);
  expect(thread.isOpen).toBe(false);
});

verifies('chimech.analyze.idle', 'starts and ends', async () => {
  const thread = openThread(50);
  expect(thread.isOpen).toBe(false);
  await thread.run(quick, signal);
  expect(thread.isOpen).toBe(true);
  await eventually(async () => await Promise.resolve(!thread.isOpen));
  expect((await thread.run(quick, signal)).metrics.word_count).toBe(3);
  await thread.close();
});
