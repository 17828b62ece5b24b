// Brings the documents of a directory into the knowledge base: what is new or has changed is read and replaced, what is as it
// was is left alone. A file that cannot be read is reported and skipped; what was imported from it before stays.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { embedAll, type Embeddings } from '#libs/embeddings/embedding.js';
import type { KnowledgeDatabase } from '../knowledge-database.js';
import { DocumentStore } from './document-store.js';
import { maxFileBytes, type ReadDocument, UnreadableFile } from './documents.js';
import { splitPassages } from './split-passages.js';
import { walkFiles } from './walk-files.js';

export interface ImportOptions {
  directory: string;
  /** The name under which searches show and filter the documents; without '/'. */
  source: string;
  /** Whether documents whose files are gone are removed. */
  prune: boolean;
  database: KnowledgeDatabase;
  /** @throws UnreadableFile */
  read: (path: string, bytes: Buffer, signal: AbortSignal) => Promise<ReadDocument>;
  embeddings?: Embeddings;
  onProgress?: (progress: ImportSummary) => void;
}

export interface ImportSummary {
  imported: number;
  unchanged: number;
  /** Documents without a file, removed or left. */
  removed: number;
  missing: number;
  embedded: number;
  /** Paths below the directory, each with what is wrong with it. */
  failed: { path: string; reason: string }[];
}

/** Goes into the hashes: a change of how files are read or split is a change of all documents. */
const readingVersion = 2;
const embeddingBatch = 64;
const maxTitleLength = 300;

/** @throws AppError when the database does not answer; what `embed` throws; the signal's reason */
export async function importDocuments(options: ImportOptions, signal: AbortSignal): Promise<ImportSummary> {
  const { directory, source, prune, embeddings, onProgress } = options;
  const store = new DocumentStore(options.database, signal);
  const summary: ImportSummary = { imported: 0, unchanged: 0, removed: 0, missing: 0, embedded: 0, failed: [] };
  const known = await store.hashesOf(source);
  const unseen = new Set(known.keys());
  let [files, complete] = [0, true];
  const onUnlisted = (path: string) => {
    complete = false;
    summary.failed.push({ path: path === '' ? '.' : path, reason: 'cannot be listed' });
  };
  for await (const { path, absolutePath } of walkFiles(directory, onUnlisted)) {
    signal.throwIfAborted();
    files += 1;
    const id = `${source}/${path}`;
    unseen.delete(id);
    try {
      const { bytes, modified } = await readFileAt(absolutePath);
      const contentHash = createHash('sha256').update(`${readingVersion}\n`).update(bytes).digest('hex');
      if (known.get(id) === contentHash) summary.unchanged += 1;
      else {
        const read = await options.read(path, bytes, signal);
        await store.replace({ ...describe(read, path, modified), id, source, contentHash }, splitPassages(read.blocks));
        summary.imported += 1;
      }
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error;
      summary.failed.push({ path, reason: error.message });
    }
    onProgress?.(summary);
  }
  // A directory without documents is rather the wrong one, or one that is not mounted.
  if (prune && complete && files > 0) {
    await store.remove([...unseen]);
    summary.removed = unseen.size;
  } else summary.missing = unseen.size;
  if (summary.imported + summary.removed > 0) await store.countWords();
  if (embeddings !== undefined)
    await embedMissing(store, embeddings, signal, (count) => {
      summary.embedded += count;
      onProgress?.(summary);
    });
  return summary;
}

function describe(read: ReadDocument, path: string, modified: Date) {
  const name = basename(path, extname(path));
  const title = read.title ?? read.blocks.find((block) => block.heading)?.text ?? name;
  return {
    title: title.slice(0, maxTitleLength),
    category: (read.category ?? (path.includes('/') ? path.split('/')[0]! : 'general')).slice(0, maxTitleLength),
    date: read.date ?? modified,
    url: read.url,
  };
}

/** @throws UnreadableFile */
async function readFileAt(path: string): Promise<{ bytes: Buffer; modified: Date }> {
  // What was a file when it was listed may be a link by now, or a pipe that nobody writes to.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    throw new UnreadableFile(`cannot be opened (${error.code})`);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new UnreadableFile('is not a regular file');
    if (stats.size > maxFileBytes) throw new UnreadableFile(`is larger than ${maxFileBytes} bytes`);
    return { bytes: await file.readFile(), modified: stats.mtime };
  } finally {
    await file.close();
  }
}

async function embedMissing(
  store: DocumentStore,
  { model, embed }: Embeddings,
  signal: AbortSignal,
  onEmbedded: (count: number) => void,
): Promise<void> {
  for (let after = '0'; ;) {
    const passages = await store.withoutEmbedding(model, after, embeddingBatch);
    if (passages.length === 0) return;
    const vectors = await embedAll(
      embed,
      passages.map(({ title, text }) => `${title}\n${text}`),
      signal,
    );
    await store.addEmbeddings(model, passages, vectors);
    after = passages.at(-1)!.id;
    onEmbedded(passages.length);
  }
}
