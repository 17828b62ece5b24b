// Why content cannot be analysed. The codes are those of Chimech's answers.
import type { JsonObject } from '#libs/schemas/json.js';

const statusCodes = { INVALID_PARAMS: 400, CONTEXT_TOO_LONG: 413, RATE_LIMIT: 429, TIMEOUT: 504, INTERNAL_ERROR: 500 };

export type AnalyzeErrorCode = keyof typeof statusCodes;

export class AnalyzeError extends Error {
  override readonly name = 'AnalyzeError';
  readonly statusCode: number;

  constructor(
    message: string,
    readonly code: AnalyzeErrorCode,
    readonly details?: JsonObject,
  ) {
    super(message);
    this.statusCode = statusCodes[code];
  }
}
