// Source code by its syntax tree.
import type { AnalysisTask, Findings } from '../analysis.js';
import { wrongLanguage } from '../analyze-error.js';
import { counted } from '../counted.js';
import { say } from '../../language.js';
import { answerLanguageOf } from '../text/detect-language.js';
import { countWords } from '../text/split-text.js';
import { clamp, clampScore } from '../text/readability.js';
import { analyzeTree, type TreeFindings } from './analyze-tree.js';
import {
  codeLanguages,
  type CodeFunction,
  type CodeLanguage,
  type CodeStructure,
  nothingFound,
} from './code-structure.js';
import { grammars } from './grammars.js';
import { guessLanguage } from './guess-language.js';
import { parseCode } from './parse-code.js';

const names = new Map<string, CodeLanguage>(
  Object.entries({
    ts: 'typescript',
    tsx: 'typescript',
    mts: 'typescript',
    cts: 'typescript',
    js: 'javascript',
    jsx: 'javascript',
    mjs: 'javascript',
    cjs: 'javascript',
    node: 'javascript',
    py: 'python',
    python3: 'python',
    golang: 'go',
    rs: 'rust',
  }),
);
for (const language of codeLanguages) names.set(language, language);

const maxKeywords = 10;

export async function analyzeCode({ content, language: asked }: AnalysisTask): Promise<Findings> {
  const language = asked === undefined ? await guessLanguage(content) : names.get(asked.toLowerCase());
  if (language === undefined) {
    if (asked === undefined) return unknownLanguage(content);
    throw wrongLanguage('code', codeLanguages, asked);
  }
  const { tree } = await parseCode(content, language);
  const found = analyzeTree(tree, grammars[language], content);
  const answerLanguage = answerLanguageOf(found.commentText);
  const structure = structureOf(content, language, found);
  const { places, lines } = structure.unreadable;
  const shown = `${lines.slice(0, 5).join(', ')}${lines.length > 5 ? ', …' : ''}`;
  const warnings =
    places === 0
      ? []
      : [
          say(answerLanguage, {
            en: `The parser could not read ${counted(places, 'place')} (line ${shown}): the code is damaged or cut off, or uses syntax that the parser does not know. Results for these places may be missing or wrong`,
            zh: `解析器无法读取 ${places} 处（第 ${shown} 行）：代码已损坏、不完整，或含有解析器不支持的语法。这些位置的结果可能缺失或有误`,
          }),
        ];
  const facts = factsOf(structure, answerLanguage);
  return {
    answerLanguage,
    summary: facts.join(answerLanguage === 'zh' ? '。' : '. ') + (answerLanguage === 'zh' ? '。' : '.'),
    keywords: keywordsOf(found.identifiers),
    structure,
    metrics: { word_count: countWords(content), complexity_score: codeComplexity(found.complexities) },
    warnings,
    facts: [],
  };
}

function structureOf(content: string, language: CodeLanguage | 'unknown', found: TreeFindings): CodeStructure {
  const { commentLines, commentText: _text, complexities: _complexities, identifiers: _identifiers, ...rest } = found;
  return { language, lines: countLines(content, commentLines), ...rest };
}

function countLines(content: string, comment: number): CodeStructure['lines'] {
  const lines = content.replace(/\n$/, '').split('\n');
  return { total: lines.length, blank: lines.filter((line) => line.trim() === '').length, comment };
}

/** McCabe (1976) found functions above 10 hard to test; a mean of 10 and a highest of 50 are a half each. */
export function codeComplexity(complexities: readonly number[]): number {
  const mean = complexities.reduce((a, b) => a + b, 0) / complexities.length;
  const highest = complexities.reduce((a, b) => Math.max(a, b), 1);
  return clampScore(50 * clamp((mean - 1) / 9) + 50 * clamp((highest - 1) / 49));
}

function keywordsOf(identifiers: ReadonlyMap<string, number>): string[] {
  return [...identifiers]
    .filter(([name]) => name.length > 2)
    .sort(([, a], [, b]) => b - a)
    .slice(0, maxKeywords)
    .map(([name]) => name);
}

const written: Record<CodeLanguage, string> = {
  typescript: 'TypeScript',
  javascript: 'JavaScript',
  python: 'Python',
  go: 'Go',
  java: 'Java',
  rust: 'Rust',
};

function factsOf(structure: CodeStructure, answerLanguage: Findings['answerLanguage']): string[] {
  const { language, lines, function_count: functions, class_count: classes, imports, comments } = structure;
  const name = language === 'unknown' ? language : written[language];
  const hardest = structure.functions.reduce<CodeFunction | undefined>(
    (most, one) => (most === undefined || one.complexity > most.complexity ? one : most),
    undefined,
  );
  const facts = [
    say(answerLanguage, {
      en: `${name}, ${counted(lines.total, 'line')}: ${counted(functions, 'function')}, ${counted(classes, 'type')}, ${counted(imports.length, 'import')}, ${counted(comments, 'comment')}`,
      zh: `${name}，${lines.total} 行：${functions} 个函数，${classes} 个类型，${imports.length} 个导入，${comments} 处注释`,
    }),
  ];
  if (hardest !== undefined) {
    facts.push(
      say(answerLanguage, {
        en: `The most complex function is ${hardest.name} (line ${hardest.line}): cyclomatic complexity ${hardest.complexity}, nesting ${hardest.nesting}`,
        zh: `最复杂的函数是 ${hardest.name}（第 ${hardest.line} 行）：圈复杂度 ${hardest.complexity}，嵌套 ${hardest.nesting} 层`,
      }),
    );
  }
  return facts;
}

function unknownLanguage(content: string): Findings {
  const answerLanguage = answerLanguageOf(content);
  const lines = countLines(content, 0);
  return {
    answerLanguage,
    summary: say(answerLanguage, {
      en: `Code in an unknown language, ${counted(lines.total, 'line')}.`,
      zh: `未知语言的代码，${lines.total} 行。`,
    }),
    keywords: [],
    structure: {
      language: 'unknown',
      lines,
      ...nothingFound(),
    },
    metrics: { word_count: countWords(content), complexity_score: 0 },
    warnings: [
      say(answerLanguage, {
        en: `The language was not recognised, so only lines and words are counted. Set options.language (${codeLanguages.join(', ')})`,
        zh: `无法识别编程语言：仅统计行数和词数。可用 options.language 指定（${codeLanguages.join(', ')}）`,
      }),
    ],
    facts: [],
  };
}
