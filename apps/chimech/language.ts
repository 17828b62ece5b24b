// The language that a caller is answered in: Chinese or English, by what it wrote.

export type Language = 'en' | 'zh';

const maxTextLength = 2_000;

/** ROI, Q3, SRE: notes in any language have them. */
const abbreviation = /^\p{Lu}{1,5}$/u;

export function languageOfText(text: string): Language {
  const start = text.slice(0, maxTextLength);
  return isChinese(hanCharacters(start), latinWords(start)) ? 'zh' : 'en';
}

export const hanCharacters = (text: string): number => text.match(/\p{Script=Han}/gu)?.length ?? 0;
export const latinWords = (text: string): string[] => text.match(/\p{Script=Latin}+/gu) ?? [];

/** Chinese has at least as many Han characters as words in Latin letters, abbreviations apart, and one at all. */
export function isChinese(han: number, words: readonly string[]): boolean {
  return han > 0 && han >= words.filter((word) => !abbreviation.test(word)).length;
}

/** What a caller writes itself; a context may be in any language. */
const ownWords = ['question', 'prompt', 'query', 'content'];

/** Of the arguments of a call, whatever they are: what the caller asks decides, or all texts if that has no letters. */
export function languageOfArguments(args: unknown): Language {
  if (typeof args !== 'object' || args === null) return 'en';
  const own = Object.entries(args).find(([name, value]) => ownWords.includes(name) && /\p{L}/u.test(String(value)));
  if (typeof own?.[1] === 'string') return languageOfText(own[1]);
  const texts = Object.values(args).filter((value) => typeof value === 'string');
  return languageOfText(texts.map((text) => text.slice(0, maxTextLength)).join('\n'));
}

export const say = (language: Language, texts: Readonly<Record<Language, string>>): string => texts[language];
