// Records and documents: CSV, TSV, JSON, lines of JSON, YAML.
import type { AnalysisTask, Findings } from '../analysis.js';
import { wrongLanguage } from '../analyze-error.js';
import { counted } from '../counted.js';
import { say } from '../../language.js';
import { answerLanguageOf } from '../text/detect-language.js';
import { clamp, clampScore } from '../text/readability.js';
import { countWords } from '../text/split-text.js';
import { dataFormats, type DataFormat, type DataStructure } from './data-structure.js';
import { describeColumns } from './describe-columns.js';
import { parseData } from './parse-data.js';

const names = new Map<string, DataFormat>(Object.entries({ jsonl: 'ndjson', yml: 'yaml' }));
for (const format of dataFormats) names.set(format, format);

const maxKeywords = 10;

export async function analyzeData({ content, language: asked }: AnalysisTask): Promise<Findings> {
  const format = asked === undefined ? undefined : names.get(asked.toLowerCase());
  if (asked !== undefined && format === undefined) {
    throw wrongLanguage('data', dataFormats, asked);
  }
  const parsed = await parseData(content, format);
  const answerLanguage = answerLanguageOf(content);
  const rows = rowsOf(parsed.value);
  const { columns, count } = describeColumns(rows, parsed.untyped);
  const structure: DataStructure = {
    format: parsed.format,
    valid: parsed.problems.length === 0,
    rows: rows.length,
    columns,
    column_count: count,
    depth: parsed.untyped ? 1 : depthOf(parsed.value),
    ...(parsed.delimiter === undefined ? {} : { delimiter: parsed.delimiter }),
    ...(parsed.header === undefined ? {} : { header: parsed.header }),
  };
  const missing = columns.reduce((sum, column) => sum + column.missing, 0);
  const name =
    structure.format === 'unknown' ? { en: 'Data', zh: '数据' } : bothLanguages(structure.format.toUpperCase());
  const listed = columns.slice(0, 8).map((column) => `${column.name} (${column.type})`);
  const more = count > listed.length ? ', …' : '';
  return {
    answerLanguage,
    summary: say(answerLanguage, {
      en: `${name.en}: ${counted(rows.length, 'row')}, ${counted(count, 'column')}${listed.length === 0 ? '' : `: ${listed.join(', ')}${more}`}. Depth ${structure.depth}, ${counted(missing, 'missing value')}.`,
      zh: `${name.zh}：${rows.length} 行，${count} 列${listed.length === 0 ? '' : `：${listed.join('，')}${more}`}。嵌套深度 ${structure.depth}，缺失值 ${missing} 个。`,
    }),
    keywords: columns.slice(0, maxKeywords).map((column) => column.name),
    structure,
    metrics: { word_count: countWords(content), complexity_score: dataComplexity(structure.depth, count) },
    warnings: [...new Set(parsed.problems.map((problem) => say(answerLanguage, problem)))],
    facts: [],
  };
}

const bothLanguages = (text: string) => ({ en: text, zh: text });

/** Half for depth (1: 0, 10: 50), half for columns on a scale of powers (1: 0, 100: 50). */
export function dataComplexity(depth: number, columns: number): number {
  return clampScore(50 * clamp((depth - 1) / 9) + 50 * clamp(Math.log10(Math.max(1, columns)) / 2));
}

function rowsOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** Without recursion: JSON may be nested as deep as it is long. */
function depthOf(value: unknown): number {
  let deepest = 0;
  const ahead: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let at = ahead.pop(); at !== undefined; at = ahead.pop()) {
    if (typeof at.value !== 'object' || at.value === null) continue;
    const depth = at.depth + 1;
    deepest = Math.max(deepest, depth);
    for (const inner of Object.values(at.value) as unknown[]) ahead.push({ value: inner, depth });
  }
  return deepest;
}
