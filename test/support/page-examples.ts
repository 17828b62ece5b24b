// Goes through a page of the documentation as a reader does, block by block, and compares what is printed with the page.
// Every block must be handled, so that none is left untested.
import { expect } from 'vitest';
import { type CodeBlock, codeBlocks, fences } from './markdown-blocks.js';

/**
 * Does what the block asks of a reader, and returns what was printed. Undefined: the block is not to be done, it shows the
 * output of the block before. Null: its output is not compared.
 */
export type Follow = (block: CodeBlock) => Promise<string | undefined | null>;

/** The page with what its commands print now. It is the page itself if that differs in ids, times and durations only. */
export async function pageAsRun(markdown: string, follow: Follow): Promise<string> {
  const shown: string[] = [];
  let printed: string | undefined | null;
  for (const block of codeBlocks(markdown)) {
    const output = await follow(block);
    if (output === undefined) {
      expect(printed, `no command before: ${block.code}`).toBeDefined();
      expect(['json', 'text'], block.code).toContain(block.language);
      shown.push(typeof printed === 'string' ? withOutput(block, printed) : block.code);
    } else {
      // A page need not show what a command prints, but where it shows something, it shows all of it.
      shown.push(block.code);
    }
    printed = output;
  }
  let at = 0;
  return markdown.replaceAll(fences, (_whole, language: string) => `\`\`\`${language}\n${shown[at++]}\`\`\``);
}

function withOutput({ language, code }: CodeBlock, printed: string): string {
  const [was, is] = [code, printed].map((text) => compact(language, text));
  return masked(was!) === masked(is!) ? code : `${is}\n`;
}

/** Removes what differs between runs: ids, times, durations. */
const masked = (answer: string): string =>
  answer
    .replaceAll(/\b([a-z]+[-_])[0-9a-f]{16,}\b/g, '$1…')
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g, '…')
    .replaceAll(/"(created|created_at|duration_ms|model|queue|tool|person)":\d+/g, '"$1":0')
    .replaceAll(/"etag":"(?:[^"\\]|\\.)*"/g, '"etag":"…"');

const compact = (language: string, answer: string): string =>
  language === 'json' && answer.trim() !== ''
    ? JSON.stringify(JSON.parse(answer))
    : answer.replaceAll(/[ \t]+$/gm, '').trimEnd();
