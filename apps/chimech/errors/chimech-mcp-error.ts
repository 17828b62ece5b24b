// The one class of errors that callers of Chimech see, and what other errors become. Messages are written for the caller:
// no stack, no path, no key.
import { ZodError } from 'zod';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { AnalyzeError } from '../analyze/analyze-error.js';
import { say, type Language } from '../language.js';
import { describeIssues } from './describe-issues.js';

export const statusOfCode = {
  INVALID_PARAMS: 400,
  INVALID_QUESTION: 400,
  CONTEXT_TOO_LONG: 413,
  UNAUTHORIZED: 401,
  RATE_LIMIT: 429,
  API_RATE_LIMIT: 429,
  API_ERROR: 502,
  TIMEOUT: 504,
  INTERNAL_ERROR: 500,
} as const;

export type ChimechCode = keyof typeof statusOfCode;

export class ChimechMCPError extends Error {
  override readonly name = 'ChimechMCPError';

  constructor(
    message: string,
    readonly code: ChimechCode,
    readonly statusCode: number = statusOfCode[code],
    readonly details?: JsonObject,
  ) {
    super(message);
  }
}

export const queryTool = 'chimech/query';

/** The error that the caller of a failed call sees. */
export function toChimechError(error: unknown, tool: string, language: Language): ChimechMCPError {
  if (error instanceof ChimechMCPError) return error;
  if (error instanceof AnalyzeError) {
    return new ChimechMCPError(say(language, error.texts), error.code, undefined, error.details);
  }
  if (error instanceof AppError) {
    switch (error.code) {
      case 'invalid_tool_arguments':
        return invalidArguments(error, tool, language);
      case 'tool_denied':
        return new ChimechMCPError(say(language, notAllowed), 'UNAUTHORIZED');
      case 'tool_timeout':
        return new ChimechMCPError(say(language, late), 'TIMEOUT');
      default:
    }
  }
  return new ChimechMCPError(say(language, unexpected), 'INTERNAL_ERROR');
}

export const unreadableText = (name: string) => ({
  en: `${name} is not text: it is binary, or was decoded with the wrong encoding. Send it as UTF-8 text`,
  zh: `${name} 不是文本：它是二进制数据，或者读取时用错了编码。请以 UTF-8 文本发送`,
});
const notAllowed = { en: 'You are not allowed to call this tool', zh: '您无权调用此工具' };
const late = { en: 'No result was returned in time', zh: '未能在规定时间内得到结果' };
const unexpected = { en: 'Something unexpected went wrong', zh: '发生了意外错误' };
export const noQuestion = { en: 'The question contains no text', zh: '问题没有内容' };

function invalidArguments(error: AppError, tool: string, language: Language): ChimechMCPError {
  const issues = error.cause instanceof ZodError ? error.cause.issues : [];
  if (tool === queryTool && issues.some(({ path }) => path[0] === 'question')) {
    return new ChimechMCPError(say(language, noQuestion), 'INVALID_QUESTION');
  }
  const problems = describeIssues(issues, language);
  const message = say(language, { en: `Invalid arguments: ${problems}`, zh: `参数无效：${problems}` });
  return new ChimechMCPError(message, 'INVALID_PARAMS');
}
