// What an import reads and writes. Each document is written by one statement, so that a search finds all of it or what was
// there before.
import { bytesOf, signsOf } from '#libs/embeddings/embedding.js';
import type { KnowledgeDatabase } from '../knowledge-database.js';
import { spacedText, wordPairsOf } from '../spaced-text.js';
import { storedText } from '#libs/postgres/stored-text.js';
import type { Passage } from './split-passages.js';

export interface StoredDocument {
  id: string;
  source: string;
  title: string;
  category: string;
  date: Date;
  url: string | undefined;
  contentHash: string;
}

export interface PassageText {
  id: string;
  title: string;
  text: string;
}

export class DocumentStore {
  constructor(
    private readonly database: KnowledgeDatabase,
    private readonly signal: AbortSignal,
  ) {}

  /** Content hashes by id. */
  async hashesOf(source: string): Promise<Map<string, string>> {
    const rows = await this.run<{ id: string; hash: string }>(
      'select id, content_hash as hash from knowledge_documents where source = $1',
      [source],
    );
    return new Map(rows.map(({ id, hash }) => [id, hash]));
  }

  async replace(document: StoredDocument, passages: readonly Passage[]): Promise<void> {
    const { id, source, title, category, date, url, contentHash } = document;
    await this.run(
      `with document as (
         insert into knowledge_documents (id, source, title, category, date, url, content_hash)
         values ($1, $2, $3, $4, to_timestamp($5::float8), $6, $7)
         on conflict (id) do update set source = $2, title = $3, category = $4, date = to_timestamp($5::float8), url = $6,
           content_hash = $7, imported_at = now()
         returning id),
       before as (delete from knowledge_passages where document_id = $1),
       passage as (
         insert into knowledge_passages (document_id, position, text, search)
         select document.id, position, text, to_tsvector('pg_catalog.english', spaced)
         from document, unnest($8::text[], $9::text[]) with ordinality as given(text, spaced, position)
         returning id, position)
       insert into knowledge_pairs (passage_id, pairs) select passage.id, given.pairs::int[]
       from passage join unnest($10::text[]) with ordinality as given(pairs, position) using (position)`,
      [
        id,
        source,
        storedText(title),
        storedText(category),
        date.getTime() / 1000,
        url === undefined ? null : storedText(url),
        contentHash,
        passages.map(({ text }) => storedText(text)),
        passages.map(({ heading, text }) => spacedText(`${title}\n${heading}\n${text}`)),
        passages.map(({ text }) => `{${wordPairsOf(text).join(',')}}`),
      ],
    );
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.run('delete from knowledge_documents where id = any($1::text[])', [ids]);
  }

  /** Brings up to date what searches weigh words by, and what the database plans by. Rare words weigh the same unlisted. */
  async countWords(): Promise<void> {
    await this.run(
      `with counted as (
         select word, ndoc from ts_stat('select search from knowledge_passages') where ndoc > 4
         union all select '', count(*) from knowledge_passages),
       gone as (delete from knowledge_terms where term not in (select word from counted))
       insert into knowledge_terms (term, passages) select word, ndoc from counted
       on conflict (term) do update set passages = excluded.passages`,
      [],
    );
    await this.run('analyze knowledge_documents, knowledge_passages, knowledge_pairs, knowledge_signs', []);
  }

  /** Passages after an id that have no embedding of a model, in the order of their ids. */
  withoutEmbedding(model: string, after: string, limit: number): Promise<PassageText[]> {
    return this.run<PassageText>(
      `select passage.id, document.title, passage.text
       from knowledge_passages passage join knowledge_documents document on document.id = passage.document_id
       where passage.id > $2 and not exists (
         select from knowledge_signs signs where signs.passage_id = passage.id and signs.model = $1)
       order by passage.id limit $3`,
      [model, after, limit],
    );
  }

  async addEmbeddings(model: string, passages: readonly PassageText[], vectors: readonly number[][]): Promise<void> {
    // Passages that another import replaced meanwhile are left out.
    await this.run(
      `with given as (
         select id, signs, vector from unnest($2::bigint[], $3::varbit[], $4::bytea[]) as given(id, signs, vector)
         where id in (select id from knowledge_passages where id = any($2::bigint[]) for share)),
       vectors as (
         insert into knowledge_vectors (passage_id, model, vector) select id, $1, vector from given on conflict do nothing)
       insert into knowledge_signs (passage_id, model, signs) select id, $1, signs from given on conflict do nothing`,
      [model, passages.map(({ id }) => id), vectors.map(signsOf), vectors.map(bytesOf)],
    );
  }

  private run<Row extends object>(statement: string, values: readonly unknown[]): Promise<Row[]> {
    return this.database.rows<Row>(statement, values, this.signal);
  }
}
