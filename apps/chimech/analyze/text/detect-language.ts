// Chinese, English, or neither: by the script, and for Latin letters by function words. Notes, lists and headlines have hardly
// any: they are English unless they show another language.
import { hanCharacters, isChinese, latinWords, type Language } from '../../language.js';
import { englishStopWords, foreignStopWords } from './stop-words.js';

export type TextLanguage = Language | 'other';

/** Characters that are looked at. */
const sample = 50_000;
/** English prose has 40 % function words and more; other languages share a few of them. */
const minFunctionWords = 0.15;
/** What shows another language, and not only a name or a loanword: so many words, and this share of all. */
const minMarks = 3;
const minMarksShare = 0.1;
/** A small word with an accent: capitalized ones are names in notes of any language. */
const accented = /^\p{Ll}*(?![a-z])\p{Ll}/u;

export function detectLanguage(text: string): TextLanguage {
  const part = text.slice(0, sample);
  const han = hanCharacters(part);
  const syllabic = part.match(/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
  const words = latinWords(part);
  const letters = part.match(/\p{L}/gu)?.length ?? 0;
  const latin = words.reduce((sum, word) => sum + word.length, 0);
  if (syllabic > han / 10 && syllabic > words.length) return 'other';
  if (isChinese(han, words)) return 'zh';
  if (latin + han < letters / 2) return 'other';
  return showsAnother(words) ? 'other' : 'en';
}

function showsAnother(words: readonly string[]): boolean {
  const english = words.filter((word) => englishStopWords.has(word.toLowerCase())).length;
  if (english >= words.length * minFunctionWords) return false;
  const marks = words.filter((word) => accented.test(word) || foreignStopWords.has(asWritten(word))).length;
  return marks >= minMarks && marks > english && marks >= words.length * minMarksShare;
}

/** At the start of a sentence too; `LA`, `UN` and `DE` are abbreviations. */
const asWritten = (word: string) => word[0]!.toLowerCase() + word.slice(1);

/** The language of what is said about a text: English, where it is not Chinese. */
export function answerLanguageOf(text: string): Language {
  return detectLanguage(text.slice(0, 4_000)) === 'zh' ? 'zh' : 'en';
}
