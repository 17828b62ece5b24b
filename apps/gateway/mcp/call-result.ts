// The results of calls for MCP clients. A tool's failure is a result; a failure that keeps the tool from running is an error.
import type { CallToolResult } from '@modelcontextprotocol/server';
import { callMetaKeys, errorCodeMetaKey } from '#libs/mcp-server/call-meta.js';
import { failedResult } from '#libs/mcp-server/served-tool.js';
import { AppError, isToolErrorCode } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { EndedToolCall } from '../turn/dispatch/call-tool.js';

/** In `_meta` of a result: the call's id in journal and audit. */
const callIdMetaKey = 'signalbox/call_id';

/** The result for a failed call. @throws any error that is not the tool's failure */
export function toFailure(error: unknown): CallToolResult {
  if (!isToolFailure(error)) throw error;
  return failedResult(error);
}

/** The result of a call that a tool has ended, whatever its outcome. */
export function toCallResult({ id, sessionId, outcome }: Omit<EndedToolCall, 'tool'>): CallToolResult {
  const { blocks, structuredContent, meta, error } = outcome;
  return {
    content: blocks as CallToolResult['content'],
    // Clients of older eras refuse a result with any other structured content, which the text contains too.
    ...(isJsonObject(structuredContent) ? { structuredContent } : {}),
    ...(outcome.state === 'completed' ? {} : { isError: true }),
    _meta: {
      ...meta,
      [callIdMetaKey]: id,
      [callMetaKeys.sessionId]: sessionId,
      ...(error === undefined ? {} : { [errorCodeMetaKey]: error.code }),
    },
  };
}

/** Codes for tools that do not exist for the caller. */
const notThere: ReadonlySet<string> = new Set(['tool_not_found', 'tool_forbidden']);

/** Whether a call was refused because of the request, not because of the gateway's state. */
function isToolFailure(error: unknown): error is AppError {
  if (!(error instanceof AppError) || notThere.has(error.code)) return false;
  return isToolErrorCode(error.code);
}
