// `signalbox import DIR`: imports the documents of a directory into the knowledge base, also of an embedded database, running
// or not. Exit codes: 0 all imported, 1 something was not, 2 wrong usage, 3 the database does not answer.
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { loadConfig } from '#libs/config/load-config.js';
import { AppError } from '#libs/schemas/errors.js';
import { importDocuments, type ImportSummary } from '../apps/chimech/knowledge/import/import-documents.js';
import { embeddingsServerOf, openEmbeddings } from '#libs/embeddings/request-embeddings.js';
import { ThreadedReader } from '../apps/chimech/knowledge/import/threaded-reader.js';
import { KnowledgeDatabase } from '../apps/chimech/knowledge/knowledge-database.js';
import { readArguments, UsageError } from './cli/usage-error.js';
import { withDatabaseUrl } from './with-store.js';

/** Counting the words of a large base takes a while. */
const statementMs = 300_000;
const embeddingsMs = 60_000;
const shownEveryMs = 200;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));
try {
  const summary = await main();
  print(summary);
  if (summary.failed.length > 0) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = exitCodeOf(error);
}

async function main(): Promise<ImportSummary> {
  const { directory, source, prune } = await readImport();
  const config = loadConfig();
  const server = embeddingsServerOf(config, embeddingsMs);
  const embeddings = server && openEmbeddings(server);
  const reader = new ThreadedReader();
  const importInto = async (url: string) => {
    const database = new KnowledgeDatabase({ url, timeoutMs: statementMs, poolSize: 1 });
    try {
      return await importDocuments(
        {
          directory,
          source,
          prune,
          database,
          read: (path, bytes, signal) => reader.read(path, bytes, signal),
          ...(embeddings !== undefined && { embeddings }),
          ...(process.stderr.isTTY && { onProgress: showProgress() }),
        },
        stop.signal,
      );
    } finally {
      await database.close();
    }
  };
  try {
    return await withDatabaseUrl(config, importInto, stop.signal);
  } finally {
    await reader.close();
    await embeddings?.close();
  }
}

async function readImport(): Promise<{ directory: string; source: string; prune: boolean }> {
  const { positionals, values } = readArguments('import', {
    allowPositionals: true,
    options: { source: { type: 'string' }, prune: { type: 'boolean', default: false } },
  });
  if (positionals.length !== 1) throw new UsageError('Expected one directory', 'import');
  const directory = resolve(positionals[0]!);
  if (!(await stat(directory).catch(() => undefined))?.isDirectory())
    throw new UsageError(`${positionals[0]!} is not a directory`, 'import');
  const source = values.source ?? basename(directory);
  if (!/^[^\p{C}/]{1,200}$/u.test(source)) throw new UsageError(`--source must be a name without '/'`, 'import');
  return { directory, source, prune: values.prune };
}

/** One line that is written over. */
function showProgress(): (progress: ImportSummary) => void {
  let shownAt = 0;
  return ({ imported, unchanged, failed, embedded }) => {
    if (performance.now() - shownAt < shownEveryMs) return;
    shownAt = performance.now();
    process.stderr.write(
      `\r\x1b[K${imported} imported, ${unchanged} unchanged, ${failed.length} failed, ${embedded} embedded`,
    );
  };
}

function print({ imported, unchanged, removed, missing, embedded, failed }: ImportSummary): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  // Names of files may hold anything, also what a terminal obeys.
  for (const { path, reason } of failed) console.error(`${path.replace(/\p{C}/gu, '\ufffd')}: ${reason}`);
  const counts = { imported, unchanged, removed, failed: failed.length, embedded };
  console.log(
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  );
  if (missing > 0) console.log(`${missing} documents no longer have a file: --prune removes them.`);
  if (imported + unchanged + failed.length === 0) console.log('Nothing to import was found in this directory.');
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  return error instanceof AppError && error.code === 'store_unavailable' ? 3 : 1;
}
