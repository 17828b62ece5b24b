// Chinese, English, or neither: by the script, and for Latin letters by the share of English function words.
import { englishStopWords } from './stop-words.js';
import type { Tongue } from '../say.js';

export type TextLanguage = Tongue | 'other';

/** Characters that are looked at. */
const sample = 50_000;
/** Texts below this many words say too little for the share of function words. */
const minWords = 20;
/** English prose has 40 % and more; other languages share a few words with it. */
const minFunctionWords = 0.15;

export function detectLanguage(text: string): TextLanguage {
  const part = text.slice(0, sample);
  const han = part.match(/\p{Script=Han}/gu)?.length ?? 0;
  const syllabic = part.match(/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
  const words = part.match(/\p{Script=Latin}+/gu) ?? [];
  const letters = part.match(/\p{L}/gu)?.length ?? 0;
  const latin = words.reduce((sum, word) => sum + word.length, 0);
  if (syllabic > han / 10 && syllabic > words.length) return 'other';
  if (han > 0 && han >= words.length) return 'zh';
  if (latin + han < letters / 2) return 'other';
  const functionWords = words.filter((word) => englishStopWords.has(word.toLowerCase())).length;
  return words.length < minWords || functionWords >= words.length * minFunctionWords ? 'en' : 'other';
}

/** The language of what is said about a text: English, where it is not Chinese. */
export function tongueOf(text: string): Tongue {
  return detectLanguage(text.slice(0, 4_000)) === 'zh' ? 'zh' : 'en';
}
