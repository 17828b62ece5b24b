// How one call's context travels to an in-process server: keys of `_meta` in `tools/call`. Written by the worker's
// connection, read only by servers that were told to believe it: what an outside client puts there is ignored.
import { z } from 'zod';
import { toolErrorCodes, type ToolErrorCode } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

/** What a server is told about the call beside its arguments. */
export interface CallMeta {
  requestId: string;
  /** The principal. */
  userId: string;
  /** The session's name within its principal. */
  sessionId: string;
  /** Name of the session's directory under the workspaces directory (`Session.directory`); never shown. */
  workspaceDirectory: string;
}

export const callMetaKeys = {
  requestId: 'signalbox/request_id',
  userId: 'signalbox/user_id',
  sessionId: 'signalbox/session_id',
  workspaceDirectory: 'signalbox/workspace_directory',
} as const satisfies Record<keyof CallMeta, string>;

/** In `_meta` of an `isError` result: one of the tool codes, so that the reader need not guess from the text. */
export const errorCodeMetaKey = 'signalbox/error_code';
/** In `_meta` of a listed tool: `{version, category, tags}` of its author. */
export const toolMetadataMetaKey = 'signalbox/metadata';
/** In `_meta` of a listed tool: its own deadline, ms. */
export const toolTimeoutMetaKey = 'signalbox/timeout_ms';
/** In `_meta` of a listed tool: which of its calls only read (`ReadOnlyWhen`). */
export const toolReadOnlyWhenMetaKey = 'signalbox/read_only_when';
/** In `_meta` of a listed tool: `true` where its results are the same in every session. */
export const toolSessionlessMetaKey = 'signalbox/sessionless';

export function toCallMeta(call: CallMeta): JsonObject {
  return {
    [callMetaKeys.requestId]: call.requestId,
    [callMetaKeys.userId]: call.userId,
    [callMetaKeys.sessionId]: call.sessionId,
    [callMetaKeys.workspaceDirectory]: call.workspaceDirectory,
  };
}

export function readCallMeta(meta: unknown): Partial<CallMeta> {
  if (!isJsonObject(meta)) return {};
  const call: Partial<CallMeta> = {};
  for (const [member, key] of Object.entries(callMetaKeys) as [keyof CallMeta, string][]) {
    const value = meta[key];
    if (typeof value === 'string') call[member] = value;
  }
  return call;
}

const errorCodeSchema = z.enum(toolErrorCodes);

/** The tool code that a failed result carries; undefined where its server said none. */
export function readErrorCode(meta: unknown): ToolErrorCode | undefined {
  if (!isJsonObject(meta)) return undefined;
  const parsed = errorCodeSchema.safeParse(meta[errorCodeMetaKey]);
  return parsed.success ? parsed.data : undefined;
}
