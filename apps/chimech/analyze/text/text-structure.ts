// The parts of a text, read as Markdown: plain text is Markdown without marks.
import MarkdownIt from 'markdown-it';
import type { TextLanguage } from './detect-language.js';
import { splitSentences } from './split-text.js';

export interface TextStructure {
  language: TextLanguage;
  headings: { level: number; text: string; line: number }[];
  /** How many there are, where fewer are listed above. */
  heading_count: number;
  paragraphs: number;
  sentences: number;
  /** Words. */
  average_sentence_length: number;
  lists: { ordered: boolean; items: number; line: number }[];
  list_count: number;
}

export interface TextParts {
  headings: TextStructure['headings'];
  lists: TextStructure['lists'];
  paragraphs: string[];
  /** Of paragraphs and list items: what readability is about. */
  sentences: string[];
  /** Everything that is read, without marks and code blocks. */
  words: string;
}

// Indented plain text is text, not code.
const markdown = new MarkdownIt({ html: true }).disable(['code', 'entity']);
/** Headings of Chinese plain text: 第一章 …, 一、… */
const plainHeading =
  /^(?:第[一二三四五六七八九十百零\d]{1,6}[章节部篇回](?:[\s：:].*)?|[一二三四五六七八九十]{1,3}、.*)$/;
const maxHeading = 40;

type Token = ReturnType<typeof markdown.parse>[number];

export function readParts(content: string, language: TextLanguage): TextParts {
  const { body, skippedLines } = withoutFrontMatter(content);
  const parts: TextParts = { headings: [], lists: [], paragraphs: [], sentences: [], words: '' };
  const words: string[] = [];
  const openLists: TextParts['lists'] = [];
  /** Whose content comes next. */
  let inside: Token | undefined;
  const oneLineEach = language === 'zh' && !/\n[ \t\u3000]*\n/.test(body);
  const lineOf = (token: Token) => skippedLines + (token.map?.[0] ?? 0) + 1;

  for (const token of markdown.parse(body, {})) {
    if (token.type === 'bullet_list_open' || token.type === 'ordered_list_open') {
      const list = { ordered: token.type === 'ordered_list_open', items: 0, line: lineOf(token) };
      parts.lists.push(list);
      openLists.push(list);
    } else if (token.type === 'bullet_list_close' || token.type === 'ordered_list_close') openLists.pop();
    else if (token.type === 'list_item_open') openLists.at(-1)!.items += 1;
    else if (token.nesting === 1) inside = token;
    else if (token.type === 'html_block') words.push(token.content.replace(/<[^<>]*>/g, ' '));
    else if (token.type === 'inline') {
      const text = inlineText(token.children ?? []);
      if (text.trim() === '') continue;
      words.push(text);
      if (inside?.type === 'heading_open') {
        parts.headings.push({ level: Number(inside.tag.slice(1)), text: joinLines(text), line: lineOf(token) });
      } else if (inside?.type === 'paragraph_open') {
        const blocks = oneLineEach ? text.split('\n') : [text];
        for (const [index, block] of blocks.entries()) {
          const line = block.trim();
          if (openLists.length === 0 && line.length <= maxHeading && plainHeading.test(line)) {
            const level = line.startsWith('第') ? 1 : 2;
            parts.headings.push({ level, text: line, line: lineOf(token) + index });
          } else if (line !== '') {
            if (openLists.length === 0) parts.paragraphs.push(joinLines(line));
            parts.sentences.push(...splitSentences(joinLines(line)));
          }
        }
      }
    }
  }
  parts.words = words.join('\n');
  return parts;
}

/** What a reader sees. Images by their description. */
function inlineText(children: readonly Token[]): string {
  return children
    .map(({ type, content }) => {
      if (type === 'softbreak' || type === 'hardbreak') return '\n';
      return type === 'html_inline' ? '' : content;
    })
    .join('');
}

/** Lines that were broken for their width; Chinese has no spaces between words. */
function joinLines(text: string): string {
  return text.replace(/(?<=\p{Script=Han}|[，。！？；：、”])\n(?=\p{Script=Han}|[“《])/gu, '').replaceAll('\n', ' ');
}

function withoutFrontMatter(content: string): { body: string; skippedLines: number } {
  const end = content.startsWith('---\n') ? content.indexOf('\n---\n', 3) : -1;
  if (end === -1) return { body: content, skippedLines: 0 };
  const start = end + '\n---\n'.length;
  return { body: content.slice(start), skippedLines: content.slice(0, start).split('\n').length - 1 };
}
