// `npm run kb:import` as it is built, with the thread that reads files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/services/test-database.js';
import type * as threadedReader from '../../apps/chimech/knowledge/import/threaded-reader.js';
import { KnowledgeBase } from '../../apps/chimech/knowledge/knowledge-base.js';
import { httpServer } from '../support/http-server.js';
import { signal } from '../support/knowledge.js';
import { docxOf, pdfOf } from '../support/office-files.js';
import { runScript } from '../support/run-program.js';
import { verifies } from '../verifies.js';

let database: TestDatabase;
let directory: string;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = mkdtempSync(join(tmpdir(), 'signalbox-kb-'));
  mkdirSync(join(directory, 'docs'));
});
afterEach(async () => {
  rmSync(directory, { recursive: true });
  await database.drop();
});

async function importWith(args: readonly string[], variables: Record<string, string> = {}) {
  const env = { PATH: process.env['PATH'], DATABASE_URL: database.url, DATA_DIR: directory, ...variables };
  const end = await runScript('kb-import', args, { env, timeoutMs: 60_000 });
  return [end.code, end.stdout.trim(), end.stderr.trim()];
}

verifies('knowledge.import-command', 'all, again, a bad file, pruned, misunderstood, away', async () => {
  const docs = join(directory, 'docs');
  writeFileSync(join(docs, 'a.md'), '# Apples\n\nApples fall.');
  writeFileSync(join(docs, 'b.pdf'), pdfOf([['Bananas bend.']]));
  writeFileSync(join(docs, 'c.docx'), docxOf('Cherries', ['Cherries pair.']));
  expect(await importWith([docs])).toEqual([0, 'imported 3, unchanged 0, removed 0, failed 0, embedded 0', '']);
  writeFileSync(join(docs, 'b.pdf'), 'no PDF');
  const again = await importWith([docs]);
  expect(again).toEqual([
    1,
    'imported 0, unchanged 2, removed 0, failed 1, embedded 0',
    'b.pdf: is not a PDF, or is damaged',
  ]);
  rmSync(join(docs, 'b.pdf'));
  expect(await importWith([docs])).toEqual([0, expect.stringContaining('--prune removes them'), '']);
  expect(await importWith([docs, '--prune'])).toEqual([0, expect.stringContaining('removed 1'), '']);
  for (const args of [[], [docs, docs], ['nowhere'], [docs, '--source', 'a/b'], [docs, '--wrong']])
    expect((await importWith(args))[0], args.join(' ')).toBe(2);
  const away = await importWith([docs], { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:9/none' });
  expect(away).toEqual([3, '', expect.not.stringContaining('secret')]);
  const base = new KnowledgeBase({ url: database.url, timeoutMs: 30_000 });
  const { hits } = await base.search({ query: 'apples bananas cherries' }, signal());
  await base.close();
  expect(hits.map(({ id }) => id).sort()).toEqual(['docs/a.md', 'docs/c.docx']);
});

verifies('knowledge.meaning', 'embeddings of an OpenAI-compatible server, with its key; one that fails', async () => {
  const asked: unknown[] = [];
  let status = 200;
  const server = httpServer((request, response, body) => {
    asked.push([request.url, request.headers.authorization, body]);
    response.writeHead(status, { 'content-type': 'application/json' });
    const { input } = body as { input: string[] };
    const data = input.map((_, index) => ({ index, object: 'embedding', embedding: [1, index, -1] }));
    response.end(JSON.stringify({ object: 'list', data: data.reverse() }));
  });
  await server.start();
  try {
    writeFileSync(join(directory, 'docs', 'a.md'), '# Apples\n\nApples fall.');
    const variables = {
      CHIMECH_EMBEDDINGS_URL: new URL('/v1', server.url).href,
      CHIMECH_EMBEDDINGS_MODEL: 'small',
      CHIMECH_EMBEDDINGS_KEY: 'sk-canary',
    };
    status = 500;
    const failed = await importWith([join(directory, 'docs')], variables);
    expect(failed).toEqual([1, '', `The embeddings server at ${new URL(server.url).origin} answered with status 500`]);
    status = 200;
    const made = await importWith([join(directory, 'docs')], variables);
    expect(made).toEqual([0, 'imported 0, unchanged 1, removed 0, failed 0, embedded 1', '']);
    expect(asked.at(-1)).toEqual([
      '/v1/embeddings',
      'Bearer sk-canary',
      { model: 'small', input: ['Apples\nApples\nApples fall.'], encoding_format: 'float' },
    ]);
  } finally {
    await server.stop();
  }
});

test('a file that takes too long or too much memory is given up, and the next one is read', async () => {
  const built = pathToFileURL(resolve('dist/apps/chimech/knowledge/import/threaded-reader.js')).href;
  const { ThreadedReader } = (await import(built)) as typeof threadedReader;
  const page = Buffer.from('<p>one more paragraph</p>'.repeat(100_000));
  const impatient = new ThreadedReader({ timeoutMs: 1 });
  await expect(impatient.read('a.html', page, signal())).rejects.toThrow('takes longer than 1 ms to read');
  await impatient.close();
  const small = new ThreadedReader({ maxMegabytes: 16 });
  await expect(small.read('a.html', page, signal())).rejects.toThrow('takes too much memory to read');
  expect((await small.read('b.txt', Buffer.from('short'), signal())).blocks).toEqual([{ text: 'short' }]);
  await expect(small.read('c.txt', Buffer.alloc(0), signal())).rejects.toThrow('is empty');
  await expect(small.read('d.txt', page, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  await small.close();
});
