// Carries a call's context to an in-process server: keys of `_meta` in `tools/call`. Written by the worker's
// connection, read only by servers that were configured to trust it: values from an outside client are ignored.
import { z } from 'zod';
import { toolErrorCodes, type ToolErrorCode } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

export interface CallMeta {
  requestId: string;
  userId: string;
  /** The session's name within its principal. */
  sessionId: string;
  /** Name of the directory under the workspaces directory (`Session.directory`); never shown. */
  workspaceDirectory: string;
}

export const callMetaKeys = {
  requestId: 'signalbox/request_id',
  userId: 'signalbox/user_id',
  sessionId: 'signalbox/session_id',
  workspaceDirectory: 'signalbox/workspace_directory',
} as const satisfies Record<keyof CallMeta, string>;

const callMetaMembers = Object.entries(callMetaKeys) as [keyof CallMeta, string][];

/**
 * In `_meta` of a call to a server that acts for its caller: the token for the gateway. Read from every client, since the
 * gateway checks the token.
 */
export const callTokenMetaKey = 'signalbox/call_token';
/** In `_meta` of a call to a server with `identity: jwt`: the signed statement about the caller, as in the request's header. */
export const identityMetaKey = 'signalbox/identity';
/** In `_meta` of an `isError` result: one of the tool codes, so that the reader need not parse the text. */
export const errorCodeMetaKey = 'signalbox/error_code';
/** In `_meta` of a listed tool: its author's `{version, category, tags}`. */
export const toolMetadataMetaKey = 'signalbox/metadata';
/** In `_meta` of a listed tool: its own deadline, ms. */
export const toolTimeoutMetaKey = 'signalbox/timeout_ms';
/** In `_meta` of a listed tool: which of its calls are read-only (`ReadOnlyWhen`). */
export const toolReadOnlyWhenMetaKey = 'signalbox/read_only_when';
/** In `_meta` of a listed tool: `true` if its results are the same in every session. */
export const toolSessionlessMetaKey = 'signalbox/sessionless';
/** In `_meta` of a listed tool: the argument that names the one file that its results depend on. */
export const toolReadsFileMetaKey = 'signalbox/reads_file';

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
  for (const [member, key] of callMetaMembers) {
    const value = meta[key];
    if (typeof value === 'string') call[member] = value;
  }
  return call;
}

export function readCallToken(meta: unknown): string | undefined {
  const token = isJsonObject(meta) ? meta[callTokenMetaKey] : undefined;
  return typeof token === 'string' ? token : undefined;
}

const errorCodeSchema = z.enum(toolErrorCodes);

/** The tool code of a failed result; undefined if its server gave none. */
export function readErrorCode(meta: unknown): ToolErrorCode | undefined {
  if (!isJsonObject(meta)) return undefined;
  const parsed = errorCodeSchema.safeParse(meta[errorCodeMetaKey]);
  return parsed.success ? parsed.data : undefined;
}

/** The client name of a worker at tool servers. */
export const ownClientName = 'signalbox';
