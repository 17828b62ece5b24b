// Splits text into pieces for streaming, and estimates its tokens: one for each Chinese character, one for four others.

const mostPieces = 64;
const leastPiece = 12;
const wide = /[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\uFF00-\uFFEF]/g;

export function estimateTokens(text: string): number {
  const wideCount = text.match(wide)?.length ?? 0;
  return wideCount + Math.ceil((text.length - wideCount) / 4);
}

export function cutToTokens(text: string, most: number): string {
  if (estimateTokens(text) <= most) return text;
  let quarters = Math.max(0, Math.floor(most)) * 4;
  let end = 0;
  for (const character of text) {
    quarters -= character.match(wide) === null ? character.length : 4;
    if (quarters < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

export function cutAtStop(text: string, stop: unknown): string {
  const stops = [stop].flat().filter((one): one is string => typeof one === 'string' && one !== '');
  const places = stops.map((one) => text.indexOf(one)).filter((at) => at >= 0);
  return text.slice(0, Math.min(text.length, ...places));
}

/** Splits text, mostly after spaces and punctuation, into a bounded number of pieces. */
export function* inPieces(text: string): Iterable<string> {
  const size = Math.max(leastPiece, Math.ceil(text.length / mostPieces));
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + size);
    while (to < text.length && to < from + size + 12 && !/[\s,.;:!?，。；：！？、）)"}\]]/.test(text[to - 1]!)) to += 1;
    // Never between the halves of a character.
    if (/[\uD800-\uDBFF]/.test(text[to - 1]!)) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}
