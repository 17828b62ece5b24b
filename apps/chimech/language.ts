// The language that a caller is answered in: Chinese or English, by what it wrote.

export type Language = 'en' | 'zh';

const maxTextLength = 2_000;

/** Chinese where there are at least as many Han characters as words in Latin letters, and one at all. */
export function languageOf(text: string): Language {
  const start = text.slice(0, maxTextLength);
  const han = start.match(/\p{Script=Han}/gu)?.length ?? 0;
  const words = start.match(/\p{Script=Latin}+/gu)?.length ?? 0;
  return han > 0 && han >= words ? 'zh' : 'en';
}

/** What a caller writes itself; a context may be in any language. */
const ownWords = ['question', 'prompt', 'query', 'content'];

/** Of the arguments of a call, whatever they are: what the caller asks decides, or all texts if that has no letters. */
export function languageOfArguments(args: unknown): Language {
  if (typeof args !== 'object' || args === null) return 'en';
  const own = Object.entries(args).find(([name, value]) => ownWords.includes(name) && /\p{L}/u.test(String(value)));
  if (typeof own?.[1] === 'string') return languageOf(own[1]);
  const texts = Object.values(args).filter((value) => typeof value === 'string');
  return languageOf(texts.map((text) => text.slice(0, maxTextLength)).join('\n'));
}

export const say = (language: Language, texts: Readonly<Record<Language, string>>): string => texts[language];
