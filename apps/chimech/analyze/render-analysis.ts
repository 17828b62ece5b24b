// An analysis as a text for people and models, in the language of the content.
import type { Analysis, Findings } from './analysis.js';
import { say, type Language } from '../language.js';

const titles = {
  model: { en: 'Summary by a model', zh: '模型摘要' },
  text: { en: 'Summary (sentences of the text, without a model)', zh: '摘要（摘自原文，未使用模型）' },
  structure: { en: 'Summary (what was counted, without a model)', zh: '摘要（根据统计结果，未使用模型）' },
};

function titleOf({ type, summary_by: by }: Analysis): Record<Language, string> {
  if (by === 'model') return titles.model;
  return type === 'text' ? titles.text : titles.structure;
}

export function renderAnalysis(analysis: Analysis, { answerLanguage, facts, structure }: Findings): string {
  const { metrics, keywords = [], warnings = [] } = analysis;
  const colon = say(answerLanguage, { en: ': ', zh: '：' });
  const line = (title: Record<typeof answerLanguage, string>, text: string) =>
    say(answerLanguage, title) + colon + text;
  const score = (title: Record<typeof answerLanguage, string>, text: string) => `${say(answerLanguage, title)} ${text}`;
  const scores = [
    score({ en: 'words', zh: '词数' }, String(metrics.word_count)),
    score({ en: 'complexity', zh: '复杂度' }, `${metrics.complexity_score}/100`),
    ...(metrics.readability_score === undefined
      ? []
      : [score({ en: 'readability', zh: '可读性' }, `${metrics.readability_score}/100`)]),
  ];
  const comma = say(answerLanguage, { en: ', ', zh: '，' });
  return [
    line(titleOf(analysis), analysis.summary),
    ...facts,
    line({ en: 'Metrics', zh: '指标' }, scores.join(comma)),
    ...(keywords.length === 0 ? [] : [line({ en: 'Keywords', zh: '关键词' }, keywords.join(comma))]),
    ...warnings.map((warning) => `⚠ ${warning}`),
    ...(analysis.structure === undefined ? [] : details(structure, answerLanguage)),
  ].join('\n');
}

/** Rows that are shown; `structure` has more. */
const maxRows = 30;

function details(structure: Findings['structure'], answerLanguage: Language): string[] {
  let rows: string[];
  if ('functions' in structure) {
    rows = structure.functions.map(({ name, line, end_line, nesting, complexity }) =>
      say(answerLanguage, {
        en: `- ${name} (lines ${line}–${end_line}): complexity ${complexity}, nesting ${nesting}`,
        zh: `- ${name}（第 ${line}–${end_line} 行）：圈复杂度 ${complexity}，嵌套 ${nesting} 层`,
      }),
    );
  } else if ('columns' in structure) {
    rows = structure.columns.map(({ name, type, missing, distinct, sample }) =>
      say(answerLanguage, {
        en: `- ${name}: ${type}, missing ${missing}, distinct ${distinct}, e.g. ${sample.map(String).join(' | ')}`,
        zh: `- ${name}：${type}，缺失 ${missing}，不同值 ${distinct}，例如 ${sample.map(String).join(' | ')}`,
      }),
    );
  } else rows = structure.headings.map(({ level, text, line }) => `${'#'.repeat(level)} ${text} (${line})`);
  return rows.length > maxRows ? [...rows.slice(0, maxRows), '…'] : rows;
}
