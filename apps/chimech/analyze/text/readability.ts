// How easy a text is to read, and how complex it is, 0–100. Formulas and sources: docs/chimech-analyze.md.
import { daleChall } from 'dale-chall';
import { syllable } from 'syllable';
import type { Words } from './split-text.js';

export interface WordFigures {
  words: number;
  syllables: number;
  rareWords: number;
  hanCharacters: number;
  commonHanCharacters: number;
}

const easyWords = new Set(daleChall);
const endings = /(?:'s|s|es|ed|d|ing|er|est|ly|r|st)$/;
/** What is longer is no word: a hash, or a text without spaces. */
const maxWordLetters = 40;

export function countFigures(words: Words): WordFigures {
  const figures: WordFigures = { words: 0, syllables: 0, rareWords: 0, hanCharacters: 0, commonHanCharacters: 0 };
  const counts = new Map<string, number>();
  for (const word of words) if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word, count] of counts) {
    figures.words += count;
    if (/^\p{Script=Han}/u.test(word)) {
      const characters = Array.from(word);
      const common = characters.filter((character) => commonHan().has(character)).length;
      figures.hanCharacters += characters.length * count;
      figures.commonHanCharacters += common * count;
      if (common < characters.length || characters.length >= 4) figures.rareWords += count;
    } else {
      figures.syllables += syllablesOf(word) * count;
      if (isRare(word)) figures.rareWords += count;
    }
  }
  return figures;
}

function syllablesOf(word: string): number {
  if (word.length > maxWordLetters) return Math.ceil(word.length / 3);
  return Math.max(1, syllable(word));
}

/** Not among the words that Dale and Chall found familiar. Names and numbers are not judged. */
function isRare(word: string): boolean {
  if (word.length > maxWordLetters) return true;
  if (!/^\p{Ll}[\p{L}'’]*$/u.test(word)) return false;
  const plain = word.replaceAll('’', "'");
  if (easyWords.has(plain)) return false;
  const stem = plain.replace(endings, '');
  const candidates = [stem, `${stem}e`, stem.replace(/i$/, 'y'), stem.replace(/(.)\1$/, '$1')];
  return stem === plain || !candidates.some((candidate) => easyWords.has(candidate));
}

let commonCharacters: ReadonlySet<string> | undefined;

/** The first level of GB 2312 (3,755 characters) and of Big5 (5,401): those in common use, simplified and traditional. */
function commonHan(): ReadonlySet<string> {
  if (commonCharacters !== undefined) return commonCharacters;
  const gb2312: number[] = [];
  for (let row = 0xb0; row <= 0xd7; row += 1) {
    for (let cell = 0xa1; cell <= (row === 0xd7 ? 0xf9 : 0xfe); cell += 1) gb2312.push(row, cell);
  }
  const big5: number[] = [];
  for (let lead = 0xa4; lead <= 0xc6; lead += 1) {
    for (let trail = 0x40; trail <= (lead === 0xc6 ? 0x7e : 0xfe); trail += trail === 0x7e ? 0x23 : 1) {
      big5.push(lead, trail);
    }
  }
  const characters =
    new TextDecoder('gbk').decode(Uint8Array.from(gb2312)) + new TextDecoder('big5').decode(Uint8Array.from(big5));
  commonCharacters = new Set(characters);
  return commonCharacters;
}

/** Flesch (1948), Reading Ease. */
export function readingEase({ words, syllables }: WordFigures, sentences: number): number {
  return clampScore(206.835 - 1.015 * (words / sentences) - 84.6 * (syllables / words));
}

/** Jing (1995) gives the school year that a Chinese text suits. Year 1 is 100, year 12 is 0. */
export function chineseReadingEase(figures: WordFigures, sentences: number): number {
  const { hanCharacters } = figures;
  const year =
    17.52547988 +
    0.00242523 * Math.min(hanCharacters, longestLesson) +
    0.04414527 * (hanCharacters / sentences) -
    18.33435443 * (figures.commonHanCharacters / hanCharacters);
  return clampScore(100 - ((year - 1) / 11) * 100);
}

/** Characters. The formula was fitted to lessons of textbooks: above, the length alone would decide. */
const longestLesson = 2_000;

/** Half for the length of sentences (5 words: 0, 30: 50), half for rare words (the share given: 50). */
export function textComplexity({ words, rareWords }: WordFigures, sentences: number, fullRareShare: number): number {
  const length = (words / sentences - 5) / 25;
  const rare = rareWords / words / fullRareShare;
  return clampScore(50 * clamp(length) + 50 * clamp(rare));
}

export function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

export function clampScore(score: number): number {
  return Math.round(Math.min(100, Math.max(0, score)) * 10) / 10;
}
