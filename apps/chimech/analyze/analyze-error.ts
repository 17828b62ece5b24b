// Why content cannot be analysed, in both languages. The codes are those of Chimech's answers.
import type { JsonObject } from '#libs/schemas/json.js';
import type { Language } from '../language.js';

const statusCodes = { INVALID_PARAMS: 400, CONTEXT_TOO_LONG: 413, RATE_LIMIT: 429, TIMEOUT: 504, INTERNAL_ERROR: 500 };

export type AnalyzeErrorCode = keyof typeof statusCodes;

export class AnalyzeError extends Error {
  override readonly name = 'AnalyzeError';
  readonly statusCode: number;

  constructor(
    readonly texts: Readonly<Record<Language, string>>,
    readonly code: AnalyzeErrorCode,
    readonly details?: JsonObject,
  ) {
    super(texts.en);
    this.statusCode = statusCodes[code];
  }
}

export const analysisFailed = { en: 'The analysis failed', zh: '分析失败' };

export function wrongLanguage(type: 'text' | 'code' | 'data', known: readonly string[], asked: string): AnalyzeError {
  const quoted = JSON.stringify(asked);
  return new AnalyzeError(
    {
      en: `options.language of ${type} must be one of ${known.join(', ')}, not ${quoted}`,
      zh: `type 为 ${type} 时，options.language 应为 ${known.join('、')} 之一，而不是 ${quoted}`,
    },
    'INVALID_PARAMS',
  );
}
