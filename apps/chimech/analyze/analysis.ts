// What an analysis is, as callers and the thread that makes it see it (docs/chimech-analyze.md).
import type { CodeStructure } from './code/code-structure.js';
import type { DataStructure } from './data/data-structure.js';
import type { Language } from '../language.js';
import type { TextStructure } from './text/text-structure.js';

export interface AnalysisMetrics {
  word_count: number;
  /** 0–100: more is harder. */
  complexity_score: number;
  /** 0–100: more is easier. Prose in English or Chinese only. */
  readability_score?: number;
}

export interface Analysis {
  type: 'text' | 'code' | 'data';
  summary: string;
  /** Who wrote the summary: a model, or nobody: sentences of a text, or what was counted in code and data. */
  summary_by: 'model' | 'extract';
  keywords?: string[];
  structure?: TextStructure | CodeStructure | DataStructure;
  metrics: AnalysisMetrics;
  /** What makes the result incomplete or doubtful. */
  warnings?: string[];
}

/** What an analyst of one type of content finds, before the caller's choice of details. */
export interface Findings {
  answerLanguage: Language;
  summary: string;
  keywords: string[];
  structure: TextStructure | CodeStructure | DataStructure;
  metrics: AnalysisMetrics;
  warnings: string[];
  /** Lines for people: what is counted in `structure`. */
  facts: string[];
}

export interface AnalysisTask {
  type: Analysis['type'];
  content: string;
  language?: string | undefined;
}
