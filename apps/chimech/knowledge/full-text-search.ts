// Searches by words, and for exact texts. PostgreSQL finds and stems; a passage's rank is the sum, over the words asked for, of
// how rare each is and how much of the passage it makes up. Only as many passages are looked at as its budget allows: the rare
// words of a query find what is looked for, the frequent ones only rank it.
import { storedText } from '#libs/postgres/stored-text.js';
import type { KnowledgeDatabase } from './knowledge-database.js';
import type { Ranked } from './ranked.js';
import type { Query } from './read-query.js';
import type { SearchFilters } from './search-input.js';
import { endMs, startMs } from './search-input.js';

/** Documents of a list. */
export const maxRanked = 1_000;
/** Passages that are ranked; fewer by queries of many words, each of which is looked up in each passage. */
const maxCandidates = 2_000;
const maxLookups = 24_000;
/** The rarest words of a query; what is left adds little. */
const maxTerms = 24;
/** With fewer documents, words are looked for as well that were too frequent at first. */
const enoughDocuments = 20;

interface Term {
  /** As a tsquery. */
  query: string;
  /** In how many passages it is. */
  passages: number;
  weight: number;
}

/** Words of a query as the index has them, each with its frequency. */
export async function readTerms(database: KnowledgeDatabase, query: Query, signal: AbortSignal): Promise<Term[]> {
  const rows = await database.rows<{ term: string; passages: number; all: number }>(
    `select lexeme as term, coalesce(known.passages, 0)::int as passages,
       coalesce((select passages from knowledge_terms where term = ''), 0)::int as all
     from unnest(to_tsvector('pg_catalog.english', $1)) asked left join knowledge_terms known on known.term = lexeme`,
    [query.words],
    signal,
  );
  const terms: Term[] = rows.map(({ term, passages, all }) => ({
    query: `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`,
    passages,
    // Of Robertson and Spärck Jones, as in BM25.
    weight: Math.log(1 + Math.max(0, all - passages + 0.5) / (passages + 0.5)),
  }));
  return terms.sort((one, other) => one.passages - other.passages).slice(0, maxTerms);
}

export async function searchWords(
  database: KnowledgeDatabase,
  { query, terms, filters }: { query: Query; terms: readonly Term[]; filters: SearchFilters },
  signal: AbortSignal,
): Promise<Ranked[]> {
  if (query.exact !== undefined) {
    return rank(
      database,
      { terms, exact: query.exact, pairs: query.pairs, phrases: terms.length === 0 ? [] : query.phrases, filters },
      signal,
    );
  }
  if (terms.length === 0) return [];
  let [chosen, budget] = [0, candidatesFor(terms)];
  while (chosen < terms.length && (chosen === 0 || terms[chosen]!.passages <= budget))
    budget -= terms[chosen++]!.passages;
  const any = (count: number) =>
    terms
      .slice(0, count)
      .map((term) => term.query)
      .join(' | ');
  const ranked = await rank(database, { terms, candidates: any(chosen), filters }, signal);
  if (ranked.length >= enoughDocuments || chosen === terms.length) return ranked;
  return rank(database, { terms, candidates: any(terms.length), filters }, signal);
}

function candidatesFor(terms: readonly Term[]): number {
  return Math.min(maxCandidates, Math.floor(maxLookups / terms.length));
}

interface Ranking {
  terms: readonly Term[];
  /** A tsquery. */
  candidates?: string;
  exact?: string;
  /** What a passage with the exact text has: few others have it, and only theirs is compared. */
  pairs?: readonly number[];
  phrases?: readonly string[];
  filters: SearchFilters;
}

async function rank(
  database: KnowledgeDatabase,
  { terms, candidates, exact, pairs = [], phrases = [], filters }: Ranking,
  signal: AbortSignal,
): Promise<Ranked[]> {
  const values: unknown[] = [terms.map((term) => term.query), terms.map((term) => term.weight)];
  const next = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    ...(candidates === undefined ? [] : [`passage.search @@ ${next(candidates)}::tsquery`]),
    ...(pairs.length === 0
      ? []
      : [`passage.id in (select passage_id from knowledge_pairs where pairs @> ${next(pairs)}::int[])`]),
    ...(phrases.length === 0
      ? []
      : [
          `passage.search @@ (${phrases.map((phrase) => `phraseto_tsquery('pg_catalog.english', ${next(phrase)})`).join(' && ')})`,
        ]),
    ...(exact === undefined ? [] : [`position(lower(${next(storedText(exact))}) in lower(passage.text)) > 0`]),
    ...filterConditions(filters, next),
  ];
  return database.rows<Ranked & { passageId: string }>(
    `with found as (
       select passage.id, passage.document_id, document.date, (
         select coalesce(sum(weight * ts_rank(passage.search, term, 1)), 0)
         from unnest($1::tsquery[], $2::float8[]) as asked(term, weight)) as score
       from knowledge_passages passage join knowledge_documents document on document.id = passage.document_id
       where ${conditions.join(' and ')}
       limit ${candidatesFor(terms)}),
     best as (select distinct on (document_id) * from found order by document_id, score desc, id)
     select document_id as "documentId", id as "passageId", score,
       (extract(epoch from date) * 1000)::float8 as "dateMs"
     from best order by score desc, document_id collate "C" limit ${maxRanked}`,
    values,
    signal,
  );
}

/** Of a statement that has a `document`. */
export function filterConditions(filters: SearchFilters, next: (value: unknown) => string): string[] {
  const { category, source, dateRange: { start, end } = {} } = filters;
  return [
    ...(category === undefined ? [] : [`document.category = any(${next(category.map(storedText))}::text[])`]),
    ...(source === undefined ? [] : [`document.source = any(${next(source.map(storedText))}::text[])`]),
    ...(start === undefined ? [] : [`document.date >= to_timestamp(${next(startMs(start) / 1000)}::float8)`]),
    ...(end === undefined ? [] : [`document.date <= to_timestamp(${next(endMs(end) / 1000)}::float8)`]),
  ];
}
