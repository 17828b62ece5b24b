// The code blocks of a document, so that a test can run what a reader would copy.

export interface CodeBlock {
  language: string;
  code: string;
  /** The last name in backticks before the block that looks like a file name. */
  file: string | undefined;
}

export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let before = 0;
  for (const match of markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    const names = [...markdown.slice(before, match.index).matchAll(/`([\w./-]+\.\w+)`/g)];
    blocks.push({ language: match[1]!, code: match[2]!, file: names.at(-1)?.[1] });
    before = match.index + match[0].length;
  }
  return blocks;
}
