// A document's blocks as passages: as many blocks as fit, from a heading on where there is one, long blocks cut between
// sentences or words. A passage is what a search finds and shows a part of.
import type { Block } from './documents.js';

/** Latin letters; a Chinese character says as much as five of them. */
const targetSize = 1_200;
/** No passage is shorter than this if something follows it: a heading would stand alone. */
const smallSize = 300;

export interface Passage {
  /** The heading it is under, '' without one. */
  heading: string;
  text: string;
}

export function splitPassages(blocks: readonly Block[]): Passage[] {
  const passages: Passage[] = [];
  let [texts, size, heading]: [string[], number, string] = [[], 0, ''];
  let next = '';
  const end = () => {
    if (texts.length > 0) passages.push({ heading, text: texts.join('\n') });
    [texts, size, heading] = [[], 0, next];
  };
  for (const block of blocks) {
    if (block.heading === true) {
      next = block.text;
      if (size >= smallSize) end();
      if (texts.length === 0) heading = next;
    }
    for (const piece of piecesOf(block.text)) {
      const added = sizeOf(piece);
      if (size >= smallSize && size + added > targetSize) end();
      texts.push(piece);
      size += added;
    }
  }
  end();
  return passages;
}

function sizeOf(text: string): number {
  return text.length + 4 * (text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0);
}

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (sizeOf(rest.slice(0, targetSize + 1)) > targetSize) {
    // Half of the length is left at least, so that this ends soon.
    const head = headOf(rest);
    const cuts = [/[.!?。！？][^.!?。！？]*$/u, /[,;，；、][^,;，；、]*$/u, /\s\S*$/u];
    const cut = cuts.map((pattern) => head.search(pattern)).find((at) => at > head.length / 2) ?? head.length - 1;
    pieces.push(rest.slice(0, cut + 1).trim());
    rest = rest.slice(cut + 1).trimStart();
  }
  if (rest !== '') pieces.push(rest);
  return pieces;
}

/** As many whole characters as fit. */
function headOf(text: string): string {
  let [size, length] = [0, 0];
  for (const character of text) {
    size += sizeOf(character);
    if (size > targetSize) break;
    length += character.length;
  }
  return text.slice(0, length);
}
