// Splits text into pieces for streaming, and estimates its tokens: one for each Chinese character, one for four others.

const mostPieces = 64;
const leastPiece = 12;

export function estimateTokens(text: string): number {
  const wide = text.match(/[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\uFF00-\uFFEF]/g)?.length ?? 0;
  return wide + Math.ceil((text.length - wide) / 4);
}

export function cutToTokens(text: string, most: number): string {
  if (estimateTokens(text) <= most) return text;
  let quarters = Math.max(0, Math.floor(most)) * 4;
  let end = 0;
  for (const character of text) {
    quarters -=
      character.length === 1 && estimateTokens(character) === 1 && /[\u2E80-\uFFEF]/.test(character)
        ? 4
        : character.length;
    if (quarters < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

export function cutAtStop(text: string, stop: unknown): string {
  const stops = (Array.isArray(stop) ? stop : [stop]).filter(
    (one): one is string => typeof one === 'string' && one !== '',
  );
  const places = stops.map((one) => text.indexOf(one)).filter((at) => at >= 0);
  return places.length === 0 ? text : text.slice(0, Math.min(...places));
}

/** Splits text, mostly after spaces and punctuation, into a bounded number of pieces. */
export function* inPieces(text: string): Iterable<string> {
  const size = Math.max(leastPiece, Math.ceil(text.length / mostPieces));
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + size);
    while (to < text.length && to < from + size + 12 && !/[\s,.;:!?，。；：！？、）)"}\]]/.test(text[to - 1]!)) to += 1;
    if (to < text.length && /[\uDC00-\uDFFF]/.test(text[to]!) && /[\uD800-\uDBFF]/.test(text[to - 1]!)) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}
