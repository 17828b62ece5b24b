// A knowledge base of a test's own, and corpora with questions whose answers are known.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createMigratedDatabase } from './services/test-database.js';
import type { Embeddings } from '#libs/embeddings/embedding.js';
import {
  importDocuments,
  type ImportOptions,
  type ImportSummary,
} from '../../apps/chimech/knowledge/import/import-documents.js';
import { readDocument } from '../../apps/chimech/knowledge/import/read-document.js';
import { KnowledgeBase } from '../../apps/chimech/knowledge/knowledge-base.js';
import { KnowledgeDatabase } from '../../apps/chimech/knowledge/knowledge-database.js';

export interface TestKnowledge {
  url: string;
  database: KnowledgeDatabase;
  base: KnowledgeBase;
  /** A directory that is removed at the end. */
  directory: string;
  /** Below the directory; makes directories where missing. */
  write(path: string, content: string | Buffer): void;
  import(options?: Partial<ImportOptions>): Promise<ImportSummary>;
  close(): Promise<void>;
}

export const signal = (): AbortSignal => AbortSignal.timeout(60_000);

export async function openTestKnowledge(embeddings?: Embeddings): Promise<TestKnowledge> {
  const { url, drop } = await createMigratedDatabase();
  const database = new KnowledgeDatabase({ url, timeoutMs: 60_000 });
  const base = new KnowledgeBase({ url, timeoutMs: 30_000, ...(embeddings !== undefined && { embeddings }) });
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-knowledge-'));
  return {
    url,
    database,
    base,
    directory,
    write(path, content) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), content);
    },
    import: (options) =>
      importDocuments({ directory, source: 'test', prune: false, database, read: readDocument, ...options }, signal()),
    async close() {
      rmSync(directory, { recursive: true, force: true });
      await Promise.all([database.close(), base.close()]);
      await drop();
    },
  };
}

export interface Question {
  question: string;
  /** The path of the document that answers it. */
  path: string;
}

/** Articles on many subjects, with a question each that is not in its words. */
export function chineseArticles(): (Question & { content: string })[] {
  const lines = readFileSync('test/fixtures/knowledge/chinese-articles.txt', 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [title, question, text] = line.split('|') as [string, string, string];
    return { question, path: `${title}.md`, content: `# ${title}\n\n${text}\n` };
  });
}

/** What npm packages say about themselves, asked for by the descriptions in their package.json; '' without one. */
export function packageReadmes(): (Question & { content: string })[] {
  const names = readdirSync('node_modules').flatMap((name) =>
    name.startsWith('@') ? readdirSync(join('node_modules', name)).map((scoped) => `${name}/${scoped}`) : [name],
  );
  return names.sort().flatMap((name) => {
    const directory = join('node_modules', name);
    const readme = readFile(join(directory, 'README.md')) ?? readFile(join(directory, 'readme.md'));
    const described = JSON.parse(readFile(join(directory, 'package.json')) ?? '{}') as { description?: unknown };
    const question = typeof described.description === 'string' ? described.description.trim() : '';
    if (readme === undefined || readme.length < 800) return [];
    return [{ question, path: `${name}.md`, content: readme }];
  });
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** The share of questions whose document is among the first five hits, and the questions it is not. */
export async function recallAtFive(base: KnowledgeBase, questions: readonly Question[]) {
  const missed: string[] = [];
  for (const { question, path } of questions) {
    const { hits } = await base.search({ query: question.slice(0, 1_000), options: { limit: 5 } }, signal());
    if (!hits.some(({ id }) => id === `test/${path}`))
      missed.push(`${question} → ${path}, not ${hits.map(({ id }) => id).join(', ')}`);
  }
  return { recall: 1 - missed.length / questions.length, missed };
}
