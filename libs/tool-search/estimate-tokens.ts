// Estimates the tokens of a text without a tokenizer.

/** Chinese, Japanese and Korean characters, and their full-width forms. */
export const wideCharacter = /[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\uFF00-\uFFEF]/g;

/** One token for each wide character, one for four others. */
export function estimateTokens(text: string): number {
  const wideCount = text.match(wideCharacter)?.length ?? 0;
  return wideCount + Math.ceil((text.length - wideCount) / 4);
}
