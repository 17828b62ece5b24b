// The blocks of a markdown text, so that a text that grows is drawn anew only where it grows. A text that is cut here means the same in
// pieces: blank lines end a block, but not within code, lists and quotations.
const fence = /^ {0,3}(`{3,}|~{3,})/;
const continues = /^(?: {2,}|\t|>|\||[-*+] |\d{1,9}[.)] )/;
const begins = /^(?:>|[-*+] |\d{1,9}[.)] )/;

export function textBlocks(text: string): string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let open: string | undefined;
  let isBlank = false;
  for (const line of text.split('\n')) {
    const mark = fence.exec(line)?.[1];
    const isJoined = block.length > 0 && begins.test(block[0]!) && continues.test(line);
    if (open === undefined && isBlank && line.trim() !== '' && !isJoined) {
      blocks.push(block.join('\n'));
      block = [];
    }
    if (open === undefined) open = mark;
    else if (mark !== undefined && line.trim() === mark && mark.startsWith(open)) open = undefined;
    if (block.length > 0 || line.trim() !== '') block.push(line);
    isBlank = line.trim() === '' && block.length > 0;
  }
  if (block.length > 0) blocks.push(block.join('\n'));
  return blocks;
}
