// Cuts a request where one thing to do ends and the next begins. Quotations, addresses and names are never cut.
import { findEntities } from './find-entities.js';
import { readWords } from './words.js';

const BREAKS =
  /[，；。！!;\n]+|,\s|(?<=[\p{L}\uFFFC])[.?？]\s+|(?:，|,)?\s{0,3}(?:然后|接着|之后再|之后|随后|最后|并且|同时|并(?!不|非|行)|再(?!见)|(?:\band\s+)?\bthen\b|\bafter that\b|\bafterwards\b|\bfinally\b|\band\b)/giu;
const MOST_CLAUSES = 12;

export function splitClauses(text: string): string[] {
  const { masked } = findEntities(text);
  const clauses: string[] = [];
  let from = 0;
  for (const match of masked.matchAll(BREAKS)) {
    if (clauses.length >= MOST_CLAUSES) break;
    const next = match.index + match[0].length;
    if (/and$/i.test(match[0]) && !startsWithVerb(masked.slice(next, next + 60))) continue;
    clauses.push(text.slice(from, match.index));
    from = next;
  }
  clauses.push(text.slice(from));
  return clauses.map((clause) => clause.trim()).filter((clause) => clause !== '');
}

function startsWithVerb(text: string): boolean {
  const first = /^\s*(?:also\s+|please\s+|finally\s+|then\s+)?([A-Za-z]+)/.exec(text)?.[1];
  return first !== undefined && (/^(?:tell|give|get|let|say)$/i.test(first) || readWords(first).actions.size > 0);
}
