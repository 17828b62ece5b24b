// An error as a result: what failed, why, and what to do.
import type { CallToolResult } from '@modelcontextprotocol/server';
import { errorCodeMetaKey } from '#libs/mcp-server/call-meta.js';
import type { ToolErrorCode } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { say, type Language } from '../language.js';
import type { ChimechCode, ChimechMCPError } from './chimech-mcp-error.js';

const advice: Record<ChimechCode, Record<Language, string>> = {
  INVALID_PARAMS: { en: 'Correct the arguments and call again.', zh: '请更正参数后重试。' },
  INVALID_QUESTION: { en: 'Ask a question in words.', zh: '请用文字提出问题。' },
  CONTEXT_TOO_LONG: { en: 'Send less: shorten the text or its context.', zh: '请缩短内容或上下文。' },
  UNAUTHORIZED: { en: 'Ask the operator for access.', zh: '请向管理员申请权限。' },
  RATE_LIMIT: { en: 'Wait, then call again.', zh: '请稍候再试。' },
  API_RATE_LIMIT: { en: 'Wait, then call again.', zh: '请稍候再试。' },
  API_ERROR: {
    en: 'Try again; if it fails again, ask the operator to check the gateway.',
    zh: '请重试；如仍失败，请联系管理员检查网关。',
  },
  TIMEOUT: { en: 'Try again, or ask for less.', zh: '请重试，或减少请求的内容。' },
  INTERNAL_ERROR: {
    en: 'Try again; the server log says what happened.',
    zh: '请重试；服务器日志中有详细信息。',
  },
};

/** Codes of tools, for the gateway. */
const toolCodes: Partial<Record<ChimechCode, ToolErrorCode>> = {
  INVALID_PARAMS: 'invalid_tool_arguments',
  INVALID_QUESTION: 'invalid_tool_arguments',
  CONTEXT_TOO_LONG: 'invalid_tool_arguments',
  UNAUTHORIZED: 'tool_denied',
  TIMEOUT: 'tool_timeout',
};

export function renderFailure(
  error: ChimechMCPError,
  { tool, language, processingTime }: { tool: string; language: Language; processingTime: number },
): CallToolResult {
  const failed = say(language, { en: `❌ ${tool} failed`, zh: `❌ ${tool} 调用失败` });
  const why = say(language, { en: `Error: ${error.message}`, zh: `错误：${error.message}` });
  const what = say(language, { en: 'What to do: ', zh: '建议：' }) + say(language, advice[error.code]);
  const metadata: JsonObject = {
    error: true,
    errorCode: error.code,
    statusCode: error.statusCode,
    ...(error.details === undefined ? {} : { details: error.details }),
    processingTime,
  };
  return {
    content: [{ type: 'text', text: `${failed}\n\n${why}\n\n${what}` }],
    isError: true,
    // Not in structured content, which SDK 1.x would hold against the tool's output schema.
    metadata,
    _meta: { [errorCodeMetaKey]: toolCodes[error.code] ?? 'tool_failed' },
  };
}
