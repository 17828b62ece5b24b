// Reads data in the format that it has: JSON, lines of JSON, YAML, or a table. Damage is reported, not refused.
import { parseCsv } from './parse-csv.js';
import type { DataFormat, ParsedData } from './data-structure.js';

/** Aliases of YAML that are followed: more is an attack. */
const maxAliases = 100;
const maxProblems = 5;
/** Rows of a text that is taken for a table without being called one must be this regular. */
const minRegular = 0.5;

export async function parseData(content: string, asked: DataFormat | undefined): Promise<ParsedData> {
  switch (asked) {
    case 'json':
      return parseJson(content);
    case 'ndjson':
      return parseLines(content);
    case 'yaml':
      return await parseYaml(content);
    case 'csv':
    case 'tsv':
      return parseCsv(content, asked);
    case undefined:
      return await parseGuessed(content);
  }
}

async function parseGuessed(content: string): Promise<ParsedData> {
  const json = parseJson(content);
  if (json.problems.length === 0) return json;
  if (/^\s*[[{]/.test(content)) {
    const lines = parseLines(content);
    return Array.isArray(lines.value) && lines.value.length >= 2 && lines.value.length > lines.problems.length
      ? lines
      : json;
  }
  const table = parseCsv(content, undefined);
  const isTable = table.columns > 1 && table.regular >= minRegular;
  const looksLike = looksLikeYaml(content);
  if (!isTable || looksLike) {
    const yaml = await parseYaml(content);
    if (looksLike || (yaml.problems.length === 0 && typeof yaml.value === 'object' && yaml.value !== null)) return yaml;
  }
  if (isTable) return table;
  return {
    format: 'unknown',
    value: content.split('\n').filter((line) => line.trim() !== ''),
    untyped: true,
    problems: [
      {
        en: 'The format was not recognised, so each line is treated as a value. Set options.language to csv, tsv, json, ndjson or yaml',
        zh: '无法识别数据格式：按行统计。可用 options.language 指定 csv、tsv、json、ndjson 或 yaml',
      },
    ],
  };
}

/** Most lines are `key:`, `key: value` or `- item`. */
function looksLikeYaml(content: string): boolean {
  const lines = content
    .slice(0, 10_000)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.filter((line) => /^ *(?:- |[\w\u4e00-\u9fff.-]+:(?: |$)|---$|#)/.test(line)).length > lines.length / 2;
}

function parseJson(content: string): ParsedData {
  const parsed = { format: 'json', untyped: false } as const;
  try {
    return { ...parsed, value: JSON.parse(content) as unknown, problems: [] };
  } catch (error) {
    // V8 gives the position for most errors, and always when the text is short of its end.
    const offset = Number(/at position (\d+)/.exec((error as Error).message)?.[1] ?? content.length);
    const before = content.slice(0, offset).split('\n');
    const place = { line: before.length, column: before.at(-1)!.length + 1 };
    return {
      ...parsed,
      value: undefined,
      problems: [
        {
          en: `Not valid JSON: it ends early or is wrong at line ${place.line}, column ${place.column}`,
          zh: `不是有效的 JSON：在第 ${place.line} 行第 ${place.column} 列中断或出错`,
        },
      ],
    };
  }
}

function parseLines(content: string): ParsedData {
  const value: unknown[] = [];
  const wrong: number[] = [];
  for (const [index, line] of content.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      value.push(JSON.parse(line));
    } catch {
      wrong.push(index + 1);
    }
  }
  const shown = `${wrong.slice(0, 5).join(', ')}${wrong.length > 5 ? ', …' : ''}`;
  const problems = wrong.map(() => ({
    en: `${wrong.length} lines are not valid JSON (line ${shown})`,
    zh: `${wrong.length} 行不是有效的 JSON（第 ${shown} 行）`,
  }));
  return { format: 'ndjson', value, untyped: false, problems };
}

async function parseYaml(content: string): Promise<ParsedData> {
  const { parseAllDocuments } = await import('yaml');
  const parsed = { format: 'yaml', untyped: false } as const;
  try {
    const documents = [...parseAllDocuments(content, { logLevel: 'silent' })];
    const problems = documents
      .flatMap(({ errors }) => errors)
      .slice(0, maxProblems)
      .map(({ linePos, code }) => ({
        en: `Not valid YAML at line ${linePos?.[0].line ?? 1}: ${code}`,
        zh: `YAML 在第 ${linePos?.[0].line ?? 1} 行无效：${code}`,
      }));
    const values = documents.map((document) => document.toJS({ maxAliasCount: maxAliases }) as unknown);
    return { ...parsed, value: values.length === 1 ? values[0] : values, problems };
  } catch {
    // Aliases without end; or nested beyond the stack, which JSON is not.
    const problem = {
      en: 'The YAML is nested too deeply, or its aliases expand too far',
      zh: 'YAML 嵌套过深，或别名展开过多',
    };
    return { ...parsed, value: undefined, problems: [problem] };
  }
}
