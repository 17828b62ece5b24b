// What `chimech/search` takes and gives. Dates are ISO 8601: a day counts whole, from its first moment to its last, in UTC.
import { z } from 'zod';

const dayMs = 86_400_000;
/** The first moment of the year 1: databases have no year 0. */
const earliestMs = -62_135_596_800_000;

const day = z.iso.date();
const moment = z.union([day, z.iso.datetime({ offset: true })], {
  error: 'must be a date or a time in ISO 8601, such as 2026-03-31',
});
const names = z.array(z.string().min(1).max(200)).min(1).max(100);

const dateRange = z
  .object({ start: moment.optional(), end: moment.optional() })
  .refine(({ start, end }) => start === undefined || end === undefined || startMs(start) <= endMs(end), {
    error: 'starts after it ends',
  });

export const searchInput = z.object({
  query: z
    .string()
    .max(1_000)
    .refine((text) => text.trim() !== '', { error: 'must not be empty' })
    .describe('Words or a question in any language. In quotation marks: exactly this text.'),
  filters: z
    .object({
      category: names.optional(),
      dateRange: dateRange.optional(),
      source: names.optional(),
    })
    .optional(),
  options: z
    .object({
      limit: z.int().min(1).max(100).default(10),
      offset: z.int().min(0).max(10_000).default(0),
      sortBy: z.enum(['relevance', 'date']).default('relevance'),
    })
    .optional(),
});

export type SearchInput = z.input<typeof searchInput>;

const hit = z.object({
  id: z.string().describe('Stays the same when the document is imported again.'),
  title: z.string(),
  snippet: z.string().describe('The best passage, with **what was found** marked.'),
  score: z.number().describe('Higher is better; comparable only within one result.'),
  source: z.string(),
  category: z.string(),
  date: z.iso.datetime(),
  url: z.string().optional(),
});

export const searchOutput = z.object({
  hits: z.array(hit),
  total: z.int().describe('Number of hits that can be paged through, at most 1000.'),
  mode: z.enum(['exact', 'fulltext', 'semantic', 'hybrid']),
});

export type Hit = z.output<typeof hit>;
export type SearchResult = z.output<typeof searchOutput> & { text: string };
export type SearchFilters = NonNullable<SearchInput['filters']>;

export function startMs(text: string): number {
  return Math.max(Date.parse(text), earliestMs);
}

export function endMs(text: string): number {
  const ms = startMs(text);
  return day.safeParse(text).success ? ms + dayMs - 1 : ms;
}
