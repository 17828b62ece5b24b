// Searches by meaning: the passages whose embeddings are nearest to the query's. Their signs choose the candidates, in one scan
// of all that the filters leave; the cosines of these are exact up to the bytes that are kept. Up to so many candidates the
// result is that of comparing all.
import { cosine, signsOf } from '#libs/embeddings/embedding.js';
import { filterConditions } from './full-text-search.js';
import type { KnowledgeDatabase } from './knowledge-database.js';
import { byScore, type Ranked } from './ranked.js';
import type { SearchFilters } from './search-input.js';

const maxCandidates = 200;
/** Documents of a list: whatever is asked for, something is nearest to it. */
const maxRanked = 50;

export async function searchMeaning(
  database: KnowledgeDatabase,
  { model, vector, filters }: { model: string; vector: number[]; filters: SearchFilters },
  signal: AbortSignal,
): Promise<Ranked[]> {
  const values: unknown[] = [model, signsOf(vector), vector.length];
  const next = (value: unknown) => `$${values.push(value)}`;
  const conditions = filterConditions(filters, next);
  const filtered = `signs.passage_id in (
    select passage.id from knowledge_passages passage join knowledge_documents document on document.id = passage.document_id
    where ${conditions.join(' and ')})`;
  const rows = await database.rows<Omit<Ranked, 'score'> & { vector: Buffer }>(
    `with near as (
       select signs.passage_id, case when length(signs) = $3 then bit_count(signs # $2::varbit) end as apart
       from knowledge_signs signs where model = $1 ${conditions.length === 0 ? '' : `and ${filtered}`}
       order by apart nulls last, passage_id limit ${maxCandidates})
     select document.id as "documentId", passage.id as "passageId", stored.vector,
       (extract(epoch from document.date) * 1000)::float8 as "dateMs"
     from near join knowledge_vectors stored on stored.passage_id = near.passage_id and stored.model = $1
     join knowledge_passages passage on passage.id = near.passage_id
     join knowledge_documents document on document.id = passage.document_id
     where apart is not null`,
    values,
    signal,
  );
  const ranked = rows.map(({ vector: stored, ...row }) => ({ ...row, score: cosine(vector, stored) })).sort(byScore);
  const seen = new Set<string>();
  const best = ranked.filter(({ documentId }) => !seen.has(documentId) && seen.add(documentId));
  return best.slice(0, maxRanked);
}
