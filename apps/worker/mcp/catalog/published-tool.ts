// What gateways offer of an approved definition of a tool, by the settings of its server.
import { z } from 'zod';
import {
  toolMetadataMetaKey,
  toolReadOnlyWhenMetaKey,
  toolReadsFileMetaKey,
  toolSessionlessMetaKey,
  toolTimeoutMetaKey,
} from '#libs/mcp-server/call-meta.js';
import { readAppMeta } from '#libs/mcp-server/tool-app.js';
import type { PublishedTool } from '#libs/runs/catalog/catalog-store.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { ReadOnlyWhen } from '#libs/schemas/tool-definition.js';
import { offeredName, settingOf, type ConfiguredServer } from '../servers/configured-server.js';
import type { Pinned } from './plan-publication.js';
import { readStored, type ReadTool } from './read-definitions.js';

/** Tools are offered under the operator's names, and only those that are included. */
export function toolsOf(server: ConfiguredServer): Pinned<PublishedTool> {
  return {
    kindOf: () => 'tool',
    publish: (definition, hash) => publishedTool(readStored(definition), hash, server),
    nameOf: ({ tool }) => tool,
    isOffered: (name) => isOffered(name, server),
  };
}

function publishedTool(tool: ReadTool, definitionHash: string, server: ConfiguredServer): PublishedTool {
  const { name, title, description, inputSchema, outputSchema, annotations = {} } = tool;
  const meta = tool._meta ?? {};
  const metadata = meta[toolMetadataMetaKey];
  const appMeta = readAppMeta(meta);
  const readOnly = (server.builtin || server.trusted) && annotations.readOnlyHint === true;
  const readOnlyWhen = server.builtin ? readingCalls(meta) : undefined;
  const idempotent = server.trusted && !server.builtin && annotations.idempotentHint === true;
  const timeoutMs =
    settingOf(server.tools.timeout_ms, name) ?? (server.builtin ? ownTimeout(meta) : undefined) ?? server.timeoutMs;
  return {
    server: server.name,
    tool: offeredName(server, name),
    ...(title === undefined ? {} : { title }),
    description: description ?? '',
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations: definedOnly(annotations),
    ...(isJsonObject(metadata) ? { metadata } : {}),
    ...(appMeta === undefined ? {} : { appMeta }),
    definitionHash,
    safe: readOnly || idempotent || settingOf(server.tools.retry, name) === 'safe',
    readOnly,
    ...(readOnlyWhen === undefined ? {} : { readOnlyWhen }),
    ...(server.scope === 'session' ? { stateful: true } : {}),
    ...cacheOf(tool, server, readOnlyWhen !== undefined),
    ...(server.forwardHeaders.length === 0 ? {} : { forwardHeaders: [...server.forwardHeaders] }),
    ...(server.actsForCaller ? { actsForCaller: true } : {}),
    ...(server.statement === undefined ? {} : { tellsCaller: true }),
    isolation: server.isolation,
    timeoutMs,
    maxTimeoutMs: Math.max(timeoutMs, server.maxTimeoutMs),
  };
}

/**
 * The operator decides which results are cached, but never those of tools that declare to change something, except for
 * their read-only calls. Results of builtin tools may depend on the session's files, so they are cached per session.
 */
function cacheOf(
  { name, annotations = {}, _meta: meta = {} }: ReadTool,
  server: ConfiguredServer,
  someCallsRead: boolean,
): Pick<PublishedTool, 'cacheTtlMs' | 'cachePerSession' | 'readsFile'> {
  const cacheTtlMs = settingOf(server.tools.cache_ttl_ms, name);
  const changes = annotations.readOnlyHint === false || annotations.destructiveHint === true;
  if (cacheTtlMs === undefined || (changes && !someCallsRead)) return {};
  if (!server.builtin || meta[toolSessionlessMetaKey] === true) return { cacheTtlMs };
  const readsFile = meta[toolReadsFileMetaKey];
  return { cacheTtlMs, cachePerSession: true, ...(typeof readsFile === 'string' ? { readsFile } : {}) };
}

function readingCalls(meta: Record<string, unknown>): ReadOnlyWhen | undefined {
  const read = z.record(z.string(), z.array(z.string())).safeParse(meta[toolReadOnlyWhenMetaKey]);
  return read.success ? read.data : undefined;
}

function ownTimeout(meta: Record<string, unknown>): number | undefined {
  const value = meta[toolTimeoutMetaKey];
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}

function definedOnly(annotations: NonNullable<ReadTool['annotations']>): PublishedTool['annotations'] {
  return Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== undefined));
}

function isOffered(name: string, { tools }: ConfiguredServer): boolean {
  return (tools.include === undefined || tools.include.includes(name)) && tools.exclude?.includes(name) !== true;
}
