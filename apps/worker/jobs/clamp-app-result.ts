// Limits the result of a tool that has an app. The model's part is limited as any other result; what is meant for the app
// (structured content and `_meta`) is passed on whole, or left out if it is too large, because an app cannot use a part of it.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { RawToolResult } from '../mcp/servers/connection.js';
import { clampResult, type KeepWhole, type ResultBounds } from './clamp-result.js';

/** Members that belong to one connection, or that only the gateway writes. */
const ownPrefixes = ['signalbox/', 'io.modelcontextprotocol/'];

export function clampAppResult(
  outcome: ToolOutcome,
  { appMeta, _meta }: Pick<RawToolResult, 'appMeta' | '_meta'>,
  bounds: ResultBounds,
  keep: KeepWhole,
): ToolOutcome | Promise<ToolOutcome> {
  const { structuredContent } = outcome;
  const meta = readMeta(appMeta ?? _meta);
  const clamped = clampResult({ ...outcome, structuredContent: undefined }, bounds, keep);
  const bytes = Buffer.byteLength(JSON.stringify([structuredContent, meta]));
  const forApp = bytes <= bounds.maxResultBytes ? { structuredContent, ...(meta && { meta }) } : { truncated: true };
  return clamped instanceof Promise ? clamped.then((rest) => ({ ...rest, ...forApp })) : { ...clamped, ...forApp };
}

function readMeta(meta: unknown): JsonObject | undefined {
  if (!isJsonObject(meta)) return undefined;
  const members = Object.entries(meta).filter(([name]) => !ownPrefixes.some((prefix) => name.startsWith(prefix)));
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
