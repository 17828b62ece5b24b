// Lists what a server has, page by page and up to a bound: tools, and the resources and prompts of servers that declare them.
import { type Client, ProtocolError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ServerMethod } from '#libs/schemas/tool-job.js';
import { disclose } from '../wire/read-message.js';
import { messageSize } from '../wire/message-size.js';
import type { OnServerBound } from '../wire/server-bound.js';

/** What a server offers besides tools, as it says so itself: nothing of it is checked. */
export interface ListedOffers {
  resources: unknown[];
  templates: unknown[];
  prompts: unknown[];
  instructions: string | undefined;
  completes: boolean;
  subscribes: boolean;
}

export interface PagedList {
  method: string;
  /** The member of a page that has the entries. */
  member: string;
}

export const listingOfTools: PagedList = { method: 'tools/list', member: 'tools' };

/** What a call asks of a server that is no tool. */
export interface ServerRequest {
  method: ServerMethod;
  params: JsonObject;
  meta: JsonObject;
}

interface ListingOptions {
  signal: AbortSignal;
  onBound?: OnServerBound | undefined;
}

const pageTimeoutMs = 15_000;
const maxPages = 100;
const maxEntries = 10_000;
/** Limit for all pages, including cursors. The page that exceeds it is the last one. */
const maxBytes = 32 * 1024 * 1024;

/** Some servers send `null` if there is no next page. An invalid cursor also ends the listing. */
const cursorSchema = z.string().optional().catch(undefined);

export async function listPages(client: Client, listing: PagedList, options: ListingOptions): Promise<unknown[]> {
  const { method, member } = listing;
  const { signal, onBound } = options;
  const pageSchema = z.looseObject({ [member]: z.array(z.unknown()), nextCursor: cursorSchema });
  const entries: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method, params } as never, { signal, timeout: pageTimeoutMs });
    const listed = pageSchema.parse(disclose(answer));
    bytes += messageSize(listed);
    const listedEntries = listed[member] as unknown[];
    const left = maxEntries - entries.length;
    entries.push(...listedEntries.slice(0, left));
    cursor = listed['nextCursor'] as string | undefined;
    const isMore = cursor !== undefined && (page + 1 === maxPages || bytes > maxBytes);
    const over = listedEntries.length > left || isMore;
    if (over) onBound?.('listing');
    if (over || cursor === undefined || seen.has(cursor)) break;
    seen.add(cursor);
  }
  return entries;
}

export async function listOffers(client: Client, options: ListingOptions): Promise<ListedOffers> {
  const { resources, prompts, completions } = client.getServerCapabilities() ?? {};
  const list = (isDeclared: boolean, listing: PagedList) =>
    isDeclared ? listPages(client, listing, options).catch(noneIfRefused) : [];
  const ofResources = resources !== undefined;
  return {
    resources: await list(ofResources, { method: 'resources/list', member: 'resources' }),
    templates: await list(ofResources, { method: 'resources/templates/list', member: 'resourceTemplates' }),
    prompts: await list(prompts !== undefined, { method: 'prompts/list', member: 'prompts' }),
    instructions: client.getInstructions() || undefined,
    completes: completions !== undefined,
    subscribes: resources?.subscribe === true,
  };
}

/** A server may declare more than it has. */
function noneIfRefused(error: unknown): unknown[] {
  if (error instanceof ProtocolError) return [];
  throw error;
}
