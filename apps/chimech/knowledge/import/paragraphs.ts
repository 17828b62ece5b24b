// Plain text as paragraphs.
import type { Block } from './documents.js';

/** Lines belong together until one is empty. */
export function paragraphsOf(text: string): Block[] {
  return text
    .split(/\n[ \t]*\n/)
    .map((paragraph) => ({ text: joinLines(paragraph) }))
    .filter((block) => block.text !== '');
}

/** Scripts without spaces between words have none between lines either. */
function joinLines(paragraph: string): string {
  return paragraph
    .replace(/(?<=[\p{Script=Han}\u3000-\u303f\uff00-\uffef])[ \t]*\r?\n[ \t]*(?=[\p{Script=Han}\u3000-\u303f])/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}
