// Markdown by way of HTML, with what its front matter says: title, category, date, url.
import MarkdownIt from 'markdown-it';
import { parse } from 'yaml';
import type { ReadDocument } from './documents.js';
import { readHtml } from './read-html.js';

/** Without a bound on nesting, beyond which the parser leaves text out without a word: the stack is one. */
const markdown = new MarkdownIt({ html: true, maxNesting: Infinity });
const frontMatter = /^---[ \t]*\r?\n([\s\S]{0,65536}?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;

export function readMarkdown(text: string): ReadDocument {
  const matter = frontMatter.exec(text);
  const said = matter === null ? undefined : readMatter(matter[1]!);
  const body = said === undefined ? text : text.slice(matter![0].length);
  const { blocks } = readHtml(markdown.render(body));
  return { ...said, blocks };
}

/** Undefined for what only looks like front matter: a rule, a table, YAML with a mistake. */
function readMatter(yaml: string): Omit<ReadDocument, 'blocks'> | undefined {
  let value: unknown;
  try {
    value = parse(yaml, { schema: 'core', maxAliasCount: 10 });
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const said = value as Record<string, unknown>;
  const [title, category, url] = [textOf(said['title']), textOf(said['category']), textOf(said['url'])];
  const date = new Date(textOf(said['date']) ?? '');
  return {
    ...(title !== undefined && { title }),
    ...(category !== undefined && { category }),
    ...(url !== undefined && /^https?:\/\//i.test(url) && { url }),
    ...(!Number.isNaN(date.getTime()) && { date }),
  };
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text === '' ? undefined : text;
}
