// The knowledge base: documents that were imported, searched by words, by exact texts and by meaning. Reads only;
// import/import-documents.ts writes.
import type { Logger } from '#libs/logging/logger.js';
import { embedAll, type Embeddings } from '#libs/embeddings/embedding.js';
import { readTerms, searchWords } from './full-text-search.js';
import { KnowledgeDatabase, type KnowledgeDatabaseOptions } from './knowledge-database.js';
import { listHits } from './list-hits.js';
import { byDate, fuse, type Ranked } from './ranked.js';
import { type Query, readQuery } from './read-query.js';
import { type Hit, searchInput, type SearchFilters, type SearchInput, type SearchResult } from './search-input.js';
import { searchMeaning } from './semantic-search.js';
import { plainWordsOf, type Sought, writeSnippet } from './write-snippet.js';

export interface KnowledgeBaseOptions extends KnowledgeDatabaseOptions {
  /** Without it nothing is searched by meaning. */
  embeddings?: Embeddings;
  logger?: Pick<Logger, 'warn'>;
}

interface Found {
  ranked: Ranked[];
  mode: SearchResult['mode'];
}

export class KnowledgeBase {
  private readonly database: KnowledgeDatabase;

  constructor(private readonly options: KnowledgeBaseOptions) {
    this.database = new KnowledgeDatabase(options);
  }

  /**
   * @throws ZodError for an input that is not one of `searchInput`; AppError store_unavailable; the signal's reason
   */
  async search(input: SearchInput, signal: AbortSignal): Promise<SearchResult> {
    const { query: text, filters = {}, options } = searchInput.parse(input);
    const { limit, offset, sortBy } = options ?? { limit: 10, offset: 0, sortBy: 'relevance' };
    const query = readQuery(text);
    const { ranked, mode } = await this.find(query, text, filters, signal);
    const sorted = sortBy === 'date' ? [...ranked].sort(byDate) : ranked;
    const hits = await this.readHits(query, sorted.slice(offset, offset + limit), signal);
    const result = { hits, total: ranked.length, mode };
    return { ...result, text: listHits(result, offset, query.language) };
  }

  /** How many documents there are. */
  async countDocuments(signal: AbortSignal): Promise<number> {
    const [row] = await this.database.rows<{ count: number }>(
      'select count(*)::int as count from knowledge_documents',
      [],
      signal,
    );
    return row!.count;
  }

  close(): Promise<void> {
    return this.database.close();
  }

  private async find(query: Query, text: string, filters: SearchFilters, signal: AbortSignal): Promise<Found> {
    if (query.exact !== undefined) return { ranked: await this.byWords(query, filters, signal), mode: 'exact' };
    const [words, meaning] = await Promise.all([
      this.byWords(query, filters, signal),
      this.byMeaning(text, filters, signal),
    ]);
    if (meaning === undefined || meaning.length === 0) return { ranked: words, mode: 'fulltext' };
    if (words.length === 0) return { ranked: meaning, mode: 'semantic' };
    return { ranked: fuse([words, meaning]), mode: 'hybrid' };
  }

  private async byWords(query: Query, filters: SearchFilters, signal: AbortSignal): Promise<Ranked[]> {
    const terms = await readTerms(this.database, query, signal);
    return searchWords(this.database, { query, terms, filters }, signal);
  }

  /** Undefined where there are no embeddings, or none now: words find something all the same, and the mode shows it. */
  private async byMeaning(text: string, filters: SearchFilters, signal: AbortSignal): Promise<Ranked[] | undefined> {
    const { embeddings, logger } = this.options;
    if (embeddings === undefined) return undefined;
    let vector: number[];
    try {
      [vector] = (await embedAll(embeddings.embed, [text], signal)) as [number[]];
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      logger?.warn({ error }, 'The query could not be embedded, so only words were searched');
      return undefined;
    }
    return searchMeaning(this.database, { model: embeddings.model, vector, filters }, signal);
  }

  private async readHits(query: Query, page: readonly Ranked[], signal: AbortSignal): Promise<Hit[]> {
    if (page.length === 0) return [];
    const rows = await this.database.rows<Omit<Hit, 'snippet' | 'score' | 'date' | 'url'> & StoredPassage>(
      `select passage.id as "passageId", passage.text, document.id, title, source, category, date, url
       from knowledge_passages passage join knowledge_documents document on document.id = passage.document_id
       where passage.id = any($1::bigint[])`,
      [page.map(({ passageId }) => passageId)],
      signal,
    );
    const sought = await this.soughtIn(
      rows.map(({ text }) => text),
      query,
      signal,
    );
    const byPassage = new Map(rows.map((row) => [row.passageId, row]));
    return page.flatMap(({ passageId, score }) => {
      const row = byPassage.get(passageId);
      // Replaced by an import meanwhile.
      if (row === undefined) return [];
      const { id, title, source, category, date, url, text } = row;
      return {
        id,
        title,
        snippet: writeSnippet(text, sought),
        score: Number(score.toPrecision(4)),
        source,
        category,
        date: date.toISOString(),
        ...(url !== null && { url }),
      };
    });
  }

  /** Which words of the passages have the stems that were asked for, by the same stemmer that made the index. */
  private async soughtIn(texts: readonly string[], query: Query, signal: AbortSignal): Promise<Sought> {
    const characters = new Set(query.characters);
    if (query.exact !== undefined) return { words: new Set(), characters, exact: query.exact };
    const rows = await this.database.rows<{ word: string }>(
      `select word from unnest($1::text[]) word
       where ts_lexize('pg_catalog.english_stem', word) && tsvector_to_array(to_tsvector('pg_catalog.english', $2))`,
      [[...plainWordsOf(texts)], query.words],
      signal,
    );
    return { words: new Set(rows.map(({ word }) => word)), characters };
  }
}

interface StoredPassage {
  passageId: string;
  text: string;
  date: Date;
  url: string | null;
}
