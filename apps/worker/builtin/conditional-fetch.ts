// Pages that `fetch` has read before, kept with their validators (RFC 9110, 13): the next fetch asks whether the page has
// changed, and a 304 is answered with what was kept. Nothing is used without asking the upstream first.
import { z } from 'zod';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { jsonObjectOf } from '#libs/schemas/json.js';
import { parsedJsonObject } from '#libs/schemas/content-block.js';
import type { ToolCache } from '#libs/mcp-server/tool-context.js';
import type { Incoming, OutgoingRequest } from './guarded-request.js';

const keptPage = z.object({
  /** After redirects: a validator belongs to one address. */
  url: z.string(),
  etag: z.string().optional(),
  lastModified: z.string().optional(),
  text: z.string(),
  structuredContent: parsedJsonObject,
});
export type KeptPage = z.infer<typeof keptPage>;

const keptMs = 24 * 3_600_000;
const maxTextLength = 128 * 1024;

/** Callers with conditions of their own want their own answers. */
const ownConditions = /^(?:if-.*|range|cache-control|pragma)$/i;

const isConditional = ({ method, headers }: OutgoingRequest): boolean =>
  method === 'GET' && !Object.keys(headers).some((name) => ownConditions.test(name));

const keyOf = ({ url, headers }: OutgoingRequest): string => `page:${canonicalHash([url, headers])}`;

/** A cache that is away keeps nothing and fails nothing. */
export async function findPage(cache: ToolCache, request: OutgoingRequest): Promise<KeptPage | undefined> {
  if (!isConditional(request)) return undefined;
  const text = await cache.get(keyOf(request)).catch(() => undefined);
  const read = keptPage.safeParse(text === undefined ? undefined : jsonObjectOf(text));
  return read.success ? read.data : undefined;
}

export function withConditions(request: OutgoingRequest, { etag, lastModified }: KeptPage): OutgoingRequest {
  const conditions = {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  };
  return { ...request, headers: { ...request.headers, ...conditions } };
}

export async function keepPage(
  cache: ToolCache,
  request: OutgoingRequest,
  { url, headers }: Pick<Incoming, 'url' | 'headers'>,
  page: Pick<KeptPage, 'text' | 'structuredContent'>,
): Promise<void> {
  const { etag, 'last-modified': lastModified, 'cache-control': control = '' } = headers;
  if (!isConditional(request) || page.text.length > maxTextLength || /\bno-store\b/i.test(control)) return;
  if (etag === undefined && lastModified === undefined) return;
  const kept: KeptPage = { url, ...page, ...(etag && { etag }), ...(lastModified && { lastModified }) };
  await cache.set(keyOf(request), JSON.stringify(kept), keptMs).catch(() => undefined);
}
