// Answers in pages: which parameters choose a page, and what an answer says about the next one.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ApiTool } from './api-tool.js';

const pageWords =
  /^\$?(?:page|pages?_?(?:no|num|number|size|token)|page\[\w+\]|per_?page|limit|max_?results|page_?limit|offset|start(?:_?(?:at|index|ing_after))?|skip|top|cursor|next_?(?:cursor|token|page)?|continue|continuation(?:_?token)?|marker|after|before|ending_before|count)$/i;

export const isPageParameter = (name: string): boolean => pageWords.test(name);

/** Members of an answer that have the value for the next page; those of the second kind only beside others about pages. */
const nextMember = /^(?:next|next_?(?:cursor|token|page|page_?token|offset|marker|uri|url)|@odata\.nextLink)$/i;
const cursorMember = /^(?:after|continue|cursor|marker)$/i;
/** Objects about pages, and objects in them. */
const holders = [
  'response_metadata',
  'pagination',
  'paging',
  'paging_info',
  'meta',
  'metadata',
  'links',
  '_links',
  'next_page',
];
const innerHolders = ['next', 'cursors', 'pagination'];
const cursorWords = /cursor|token|continue|marker|after|next|offset/i;
const maxLength = 1_000;

/** A sentence for the model, or undefined. */
export function nextPage(
  tool: Pick<ApiTool, 'parameters' | 'pages'>,
  answer: { headers: Headers; body: Json | undefined; url: URL },
): string | undefined {
  const next = linkOf(answer.headers.get('link') ?? '') ?? nextOf(answer.body);
  if (next === undefined || next.length > maxLength) return undefined;
  const url =
    /^(?:https?:|\/|\?)/.test(next) && URL.canParse(next, answer.url.href) ? new URL(next, answer.url) : undefined;
  if (url === undefined) {
    const taking = [cursorWords, /^page/i].flatMap((words) => tool.pages.filter((name) => words.test(name)))[0];
    return taking === undefined
      ? undefined
      : `There is a next page: call again with ${taking}: ${JSON.stringify(next)}.`;
  }
  const changed = tool.parameters.flatMap(({ place, name, argument }) => {
    const value = place === 'query' ? url.searchParams.get(name) : null;
    return value === null || value === answer.url.searchParams.get(name)
      ? []
      : [`${argument}: ${JSON.stringify(value)}`];
  });
  return changed.length > 0
    ? `There is a next page: call again with ${changed.join(', ')}.`
    : `There is a next page: ${url.pathname}${url.search}`;
}

/** The target of `rel="next"` (RFC 8288). */
function linkOf(header: string): string | undefined {
  for (const [, target, parameters = ''] of header.matchAll(/<([^<>]*)>((?:\s*;[^,<]*)*)/g)) {
    if (/;\s*rel\s*=\s*"?(?:[^";]*\s)?next(?:\s[^";]*)?"?\s*(?:;|$)/i.test(parameters)) return target;
  }
  return undefined;
}

function nextOf(body: Json | undefined): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const outer = membersOf(body, holders);
  const inner = outer.flatMap((holder) => membersOf(holder, innerHolders));
  for (const place of [body, ...outer, ...inner]) {
    for (const [name, value] of Object.entries(place)) {
      const isNext = nextMember.test(name) || (place !== body && cursorMember.test(name));
      const isAddress = name === 'href' && inner.includes(place);
      if ((isNext || isAddress) && typeof value === 'string' && value !== '') return value;
      if (isNext && typeof value === 'number') return String(value);
    }
  }
  return undefined;
}

const membersOf = (holder: JsonObject, names: readonly string[]): JsonObject[] =>
  names.map((name) => holder[name]).filter(isJsonObject);
