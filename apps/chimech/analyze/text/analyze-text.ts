// Prose and Markdown: structure, readability, keywords, and a summary of its own sentences.
import type { AnalysisTask, Findings } from '../analysis.js';
import { wrongLanguage } from '../analyze-error.js';
import { counted } from '../counted.js';
import { say } from '../../language.js';
import { detectLanguage, answerLanguageOf, type TextLanguage } from './detect-language.js';
import { extractSummary } from './extract-summary.js';
import { rankWords } from './rank-words.js';
import { chineseReadingEase, countFigures, readingEase, textComplexity, type WordFigures } from './readability.js';
import { countWords, splitWords } from './split-text.js';
import { readParts, type TextParts, type TextStructure } from './text-structure.js';

const names = new Map<string, TextLanguage>(
  Object.entries({
    zh: 'zh',
    'zh-cn': 'zh',
    'zh-tw': 'zh',
    chinese: 'zh',
    中文: 'zh',
    en: 'en',
    'en-us': 'en',
    english: 'en',
  }),
);
/** Share of rare words that counts as fully complex. */
const fullRareShare = { en: 0.4, zh: 0.15, other: 0.4 };
/** Headings and lists that are listed one by one; the counts are of all. */
const maxListed = 200;
/** Sentences that keywords and summary are taken from. */
const maxRanked = 5_000;

export function analyzeText({ content, language: asked }: AnalysisTask): Findings {
  const language = asked === undefined ? detectLanguage(content) : names.get(asked.toLowerCase());
  if (language === undefined) {
    throw wrongLanguage('text', ['zh', 'en'], asked!);
  }
  const answerLanguage = asked === undefined || language === 'other' ? answerLanguageOf(content) : language;
  const parts = readParts(content, language);
  // A text of nothing but headings or table cells still has sentences to speak of.
  const sentences = parts.sentences.length > 0 ? parts.sentences : parts.headings.map(({ text }) => text);
  const split = sentences.map((text) => ({ text, words: [...splitWords(text)] }));
  const likeliest = split.slice(0, maxRanked);
  const ranked = rankWords(
    likeliest.map(({ words }) => words),
    language,
  );
  const prose = countFigures(sentences.length > 0 ? split.flatMap(({ words }) => words) : [...splitWords(parts.words)]);
  const wordCount = countWords(parts.words);
  const readability = readabilityOf(language, prose, sentences.length);
  const structure = structureOf(language, parts, prose);
  const warnings: string[] = [];
  if (language === 'other') {
    warnings.push(
      say(answerLanguage, {
        en: 'The text is neither English nor Chinese, so readability is omitted and complexity is approximate',
        zh: '文本既非中文也非英文：不给出可读性，复杂度仅供参考',
      }),
    );
  }
  return {
    answerLanguage,
    summary: extractSummary(likeliest, ranked.scores),
    keywords: ranked.keywords,
    structure,
    metrics: {
      word_count: wordCount,
      complexity_score:
        prose.words === 0 ? 0 : textComplexity(prose, Math.max(1, sentences.length), fullRareShare[language]),
      ...(readability !== undefined ? { readability_score: readability } : {}),
    },
    warnings,
    facts: [
      say(answerLanguage, {
        en: `Text (${language === 'zh' ? 'Chinese' : language === 'en' ? 'English' : 'another language'}): ${counted(wordCount, 'word')}, ${counted(structure.sentences, 'sentence')}, ${counted(structure.paragraphs, 'paragraph')}, ${counted(structure.heading_count, 'heading')}, ${counted(structure.list_count, 'list')}`,
        zh: `文本（${language === 'zh' ? '中文' : language === 'en' ? '英文' : '其他语言'}）：${wordCount} 词，${structure.sentences} 句，${structure.paragraphs} 段，${structure.heading_count} 个标题，${structure.list_count} 个列表`,
      }),
    ],
  };
}

function readabilityOf(language: TextLanguage, figures: WordFigures, sentences: number): number | undefined {
  if (language === 'zh')
    return figures.hanCharacters > 0 ? chineseReadingEase(figures, Math.max(1, sentences)) : undefined;
  if (language === 'en' && figures.syllables > 0) return readingEase(figures, Math.max(1, sentences));
  return undefined;
}

function structureOf(language: TextLanguage, parts: TextParts, prose: WordFigures): TextStructure {
  const sentences = parts.sentences.length;
  return {
    language,
    headings: parts.headings.slice(0, maxListed),
    heading_count: parts.headings.length,
    paragraphs: parts.paragraphs.length,
    sentences,
    average_sentence_length: sentences === 0 ? 0 : Math.round((prose.words / sentences) * 10) / 10,
    lists: parts.lists.slice(0, maxListed),
    list_count: parts.lists.length,
  };
}
