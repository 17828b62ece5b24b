// Decides for a listing which definitions are approved, which changes wait for an operator, and what is offered. Pure.
// A tool whose change is held back is offered with its approved definition; a new tool that is held back is not offered.
import { z } from 'zod';
import { WorkSlices } from '#libs/concurrency/work-slices.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import {
  toolMetadataMetaKey,
  toolReadOnlyWhenMetaKey,
  toolReadsFileMetaKey,
  toolSessionlessMetaKey,
  toolTimeoutMetaKey,
} from '#libs/mcp-server/call-meta.js';
import type { KnownTool, PublishedTool, ToolWrite } from '#libs/runs/catalog/catalog-store.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { readAppMeta } from '#libs/mcp-server/tool-app.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { ReadOnlyWhen } from '#libs/schemas/tool-definition.js';
import { offeredName, settingOf, type ConfiguredServer } from '../servers/configured-server.js';
import { gradeChange, readStored, type ListedDefinition, type ReadTool } from './read-definitions.js';

export interface ListingInput {
  server: ConfiguredServer;
  listed: readonly ListedDefinition[];
  known: readonly KnownTool[];
  approved: ReadonlyMap<string, JsonObject>;
  /** No tool of this server has been seen before. */
  firstListing: boolean;
}

export interface Publication {
  /** Only differences from the stored definitions. */
  writes: ToolWrite[];
  /** New tools that were held back and are no longer listed. */
  forgotten: string[];
  published: PublishedTool[];
  /** Whether gateways must read the catalog again. */
  changed: boolean;
  refused: string[];
}

/** Known tools whose approved definition differs from the listing, and is needed to compare them. */
export function needsDefinition(listed: readonly ListedDefinition[], known: readonly KnownTool[]): string[] {
  const hashes = new Map(listed.map(({ tool, hash }) => [tool, hash]));
  return known
    .filter(({ tool, definitionHash }) => definitionHash !== null && definitionHash !== hashes.get(tool))
    .map(({ tool }) => tool);
}

interface Decided extends Omit<ToolWrite, 'published' | 'before'> {
  known?: KnownTool;
  offered?: PublishedTool;
}

export async function planPublication(input: ListingInput): Promise<Publication> {
  const turns = new WorkSlices();
  const { server, listed, known } = input;
  const byTool = new Map(known.map((each) => [each.tool, each]));
  const decided: Decided[] = [];
  for (const [position, each] of listed.entries()) {
    await turns.next();
    decided.push(decideListed(each, position, byTool.get(each.tool), input));
  }
  const listedNames = new Set(listed.map(({ tool }) => tool));
  const gone = known.filter(({ tool }) => !listedNames.has(tool));
  for (const each of gone) if (each.definitionHash !== null) decided.push(decideGone(each, input));
  const forgotten = gone.filter(({ definitionHash }) => definitionHash === null).map(({ tool }) => tool);

  const published: PublishedTool[] = [];
  const names = new Set<string>();
  const refused: string[] = [];
  const writes: ToolWrite[] = [];
  let changed = false;
  for (const { known: before, offered, ...rest } of decided.sort((left, right) => left.position - right.position)) {
    await turns.next();
    const isTwice = offered !== undefined && names.has(offered.tool);
    if (isTwice) refused.push(`${offered.tool}: listed twice, the first one stays`);
    const shown = offered === undefined || isTwice || !isOffered(rest.tool, server) ? undefined : offered;
    if (shown !== undefined) {
      names.add(shown.tool);
      published.push(shown);
    }
    const write: ToolWrite = {
      ...rest,
      ...(before === undefined ? {} : { before }),
      published: shown === undefined ? null : withHash(shown),
    };
    const moved = write.published !== null && write.position !== before?.position;
    changed ||= moved || (write.published?.hash ?? null) !== (before?.publishedHash ?? null);
    if (differs(write, before)) writes.push(write);
  }
  return { writes, forgotten, published, changed, refused };
}

function decideListed(
  { tool, definition, hash }: ListedDefinition,
  position: number,
  known: KnownTool | undefined,
  input: ListingInput,
): Decided {
  const { server, firstListing } = input;
  const at = { tool, position, listed: true, ...(known === undefined ? {} : { known }) };
  const listedTool = () => publishedTool(readStored(definition), hash, server);
  if (known?.definitionHash === hash) return { ...at, held: null, offered: listedTool() };
  const current = approvedOf(tool, known, input);
  const grade = current === undefined ? 'new' : gradeChange(current.definition, definition);
  const same = known?.held?.hash === hash ? known.held : undefined;
  const allowed = (firstListing && known === undefined) || server.changes[grade] === 'allow';
  if (allowed && same?.decision !== 'rejected') {
    const seen = firstListing && known === undefined ? {} : { seen: seenAs(grade, 'allowed', { hash, known }) };
    return { ...at, approved: { definition, hash }, held: null, offered: listedTool(), ...seen };
  }
  const held = isOffered(tool, server) ? withHash(listedTool()) : null;
  return {
    ...at,
    held: { grade, decision: same?.decision ?? 'pending', hash, definition, published: held },
    ...(current === undefined ? {} : { offered: publishedTool(readStored(current.definition), current.hash, server) }),
    ...(same === undefined ? { seen: seenAs(grade, 'held', { hash, known }) } : {}),
  };
}

/** The definition stays stored, to be compared with a later tool of the same name. */
function decideGone(known: KnownTool, input: ListingInput): Decided {
  const { tool, position } = known;
  const at = { tool, position, listed: false, known };
  const current = approvedOf(tool, known, input);
  const same = known.held?.grade === 'removed' ? known.held : undefined;
  const isNews = known.publishedHash !== null && same === undefined;
  const holds = input.server.changes.removed === 'hold' && (isNews || same !== undefined);
  const outcome = holds ? 'held' : 'allowed';
  const seen = isNews ? { seen: seenAs('removed', outcome, { hash: null, known }) } : {};
  if (current === undefined || !(holds || same?.decision === 'rejected')) return { ...at, held: null, ...seen };
  return {
    ...at,
    held: { grade: 'removed', decision: same?.decision ?? 'pending', hash: null, definition: null, published: null },
    offered: publishedTool(readStored(current.definition), current.hash, input.server),
    ...seen,
  };
}

const withHash = (tool: PublishedTool) => ({ tool, hash: canonicalHash(tool) });

function approvedOf(tool: string, known: KnownTool | undefined, { approved }: ListingInput) {
  const definition = approved.get(tool);
  return definition === undefined || known?.definitionHash == null
    ? undefined
    : { definition, hash: known.definitionHash };
}

function seenAs(
  grade: ChangeGrade,
  outcome: 'allowed' | 'held',
  { hash, known }: { hash: string | null; known: KnownTool | undefined },
): NonNullable<ToolWrite['seen']> {
  return { grade, outcome, hash, was: known?.definitionHash ?? null };
}

function differs(write: ToolWrite, before: KnownTool | undefined): boolean {
  if (before === undefined || write.approved !== undefined) return true;
  return (
    write.listed !== before.listed ||
    write.position !== before.position ||
    (write.published?.hash ?? null) !== before.publishedHash ||
    (write.held?.grade ?? null) !== (before.held?.grade ?? null) ||
    (write.held?.hash ?? null) !== (before.held?.hash ?? null) ||
    (write.held?.published?.hash ?? null) !== before.heldPublishedHash ||
    (write.held?.decision ?? null) !== (before.held?.decision ?? null)
  );
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
