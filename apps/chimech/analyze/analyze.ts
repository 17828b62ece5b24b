// The tool `chimech/analyze`: what a text, a piece of code or data consists of. Parsing runs in a thread of its own; the
// summary is a model's where there is one. docs/chimech-analyze.md has the formulas and the bounds.
import { z } from 'zod';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { builtProgram } from '#libs/process/find-installed.js';
import type { Analysis, AnalysisTask, Findings } from './analysis.js';
import { AnalysisThread } from './analysis-thread.js';
import { AnalyzeError } from './analyze-error.js';
import { cleanContent } from './clean-content.js';
import { renderAnalysis } from './render-analysis.js';

export const maxContentBytes = 512 * 1024;
/** For the parsing. */
export const maxAnalysisMs = 5_000;
/** Characters of the content that a model is shown. */
const maxSummarized = 24_000;

export const analyzeInput = z.object({
  content: z.string().describe(`The content to analyse: at most ${maxContentBytes / 1024} KiB of UTF-8`),
  type: z.enum(['text', 'code', 'data']),
  options: z
    .object({
      language: z
        .string()
        .min(1)
        .max(40)
        .optional()
        .describe(
          'For text: zh or en. For code: typescript, javascript, python, go, java or rust. For data: csv, tsv, json, ndjson or yaml. Detected by default',
        ),
      format: z
        .enum(['summary', 'detailed'])
        .default('summary')
        .describe('detailed adds the structure, and keywords unless they are turned off'),
      extractKeywords: z.boolean().optional().describe('Whether to return keywords; by default only if detailed'),
    })
    .optional(),
});

export const analyzedOutput = z.object({
  analysis: z.looseObject({
    type: z.enum(['text', 'code', 'data']),
    summary: z.string(),
    keywords: z.array(z.string()).optional(),
    structure: z.record(z.string(), z.unknown()).optional(),
    metrics: z.record(z.string(), z.unknown()).optional(),
  }),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export type AnalyzeInput = z.input<typeof analyzeInput>;

export interface AnalyzeOptions {
  signal: AbortSignal;
  /** A model's summary of an excerpt; undefined where no model gives one. */
  summarize?: (
    excerpt: string,
    about: Pick<Findings, 'answerLanguage'> & Pick<AnalysisTask, 'type'>,
  ) => Promise<string | undefined>;
  /** Where the parsing runs: in a thread of its own by default. */
  run?: (task: AnalysisTask, signal: AbortSignal) => Promise<Findings>;
}

const thread = new AnalysisThread(builtProgram('apps/chimech/analyze/answer-tasks.js'));

/** Ends the thread, if there is one. */
export const closeAnalysis = (): Promise<void> => thread.close();

/** @throws AnalyzeError; the signal's reason; what `summarize` throws. */
export async function analyze(
  input: AnalyzeInput,
  options: AnalyzeOptions,
): Promise<{ text: string; analysis: Analysis }> {
  const { signal, summarize, run = (task, until) => thread.run(task, until) } = options;
  signal.throwIfAborted();
  const { type, options: { language, format = 'summary', extractKeywords = format === 'detailed' } = {} } = input;
  checkSize(input.content);
  const { content, warnings } = cleanContent(input.content);
  const findings = await withinTime(signal, (until) => run({ type, content, language }, until));
  const written = await summarize?.(excerpt(type, findings, content), {
    type,
    answerLanguage: findings.answerLanguage,
  });
  const allWarnings = [...warnings, ...findings.warnings];
  const analysis: Analysis = {
    type,
    summary: written ?? findings.summary,
    summary_by: written === undefined ? 'extract' : 'model',
    ...(extractKeywords ? { keywords: findings.keywords } : {}),
    ...(format === 'detailed' ? { structure: findings.structure } : {}),
    metrics: findings.metrics,
    ...(allWarnings.length > 0 ? { warnings: allWarnings } : {}),
  };
  return { text: renderAnalysis(analysis, findings), analysis };
}

function checkSize(content: string): void {
  const bytes = Buffer.byteLength(content);
  if (bytes <= maxContentBytes) return;
  throw new AnalyzeError(
    {
      en: `The content has ${bytes} bytes; the limit is ${maxContentBytes}`,
      zh: `内容有 ${bytes} 字节，最多可分析 ${maxContentBytes} 字节`,
    },
    'CONTEXT_TOO_LONG',
    { limit: maxContentBytes, size: bytes },
  );
}

async function withinTime<T>(signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
  const limit = abortAfter(maxAnalysisMs);
  try {
    return await work(AbortSignal.any([signal, limit]));
  } catch (error) {
    if (signal.aborted || error !== limit.reason) throw error;
    throw new AnalyzeError(
      {
        en: `The analysis did not finish within ${maxAnalysisMs / 1_000} s: send less content`,
        zh: `分析未能在 ${maxAnalysisMs / 1_000} 秒内完成：请缩短内容`,
      },
      'TIMEOUT',
      { limitMs: maxAnalysisMs },
    );
  }
}

/** Of code and data with what was counted; of long content the beginning and the end. */
function excerpt(type: Analysis['type'], { summary }: Findings, content: string): string {
  const half = maxSummarized / 2;
  const shown = content.length <= maxSummarized ? content : `${content.slice(0, half)}\n…\n${content.slice(-half)}`;
  return type === 'text' ? shown : `${summary}\n\n${shown}`;
}
