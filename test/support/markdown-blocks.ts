// The code blocks of a document, so that a test can do with them what a reader would.

export interface CodeBlock {
  /** Empty without one. */
  language: string;
  code: string;
  /** The last name in backticks since the block before that looks like a file name. */
  file: string | undefined;
  /** From 0, among all blocks of the page. */
  number: number;
}

export const fences = /^```(\w*)\n([\s\S]*?)^```$/gm;

export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let before = 0;
  for (const [whole, language, code] of markdown.matchAll(fences)) {
    const at = markdown.indexOf(whole, before);
    const names = [...markdown.slice(before, at).matchAll(/`([\w./~-]+\.\w+)`/g)];
    blocks.push({ language: language!, code: code!, file: names.at(-1)?.[1], number: blocks.length });
    before = at + whole.length;
  }
  return blocks;
}
