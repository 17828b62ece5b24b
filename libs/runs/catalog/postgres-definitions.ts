// Pinned definitions on PostgreSQL, of tools or of prompts: two tables with the same columns. Only differences are written, in bounded
// statements.
import type { CatalogTool as CatalogToolRow } from '#libs/postgres/prisma-client/client.js';
import type { Database } from '#libs/postgres/open-database.js';
import { arrayOf, storedJson, storedJsonOrNull, storedText } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { DefinitionStore, KnownTool, ToolWrite } from './catalog-store.js';

export type DefinitionTable = 'catalog_tools' | 'catalog_prompts';
type Rows = Parameters<Parameters<Database['call']>[0]>[0];

/** Both tables have the same columns. */
export const definitionRows = (prisma: Rows, table: DefinitionTable): Rows['catalogTool'] =>
  table === 'catalog_tools' ? prisma.catalogTool : (prisma.catalogPrompt as unknown as Rows['catalogTool']);

/** SQL of what an audit row says of a change. The row without a name in `catalog_prompts` has the instructions. */
export function auditedChange(table: DefinitionTable, grade: string, was: string): string {
  const kind = table === 'catalog_tools' ? '' : `, 'kind', case tool when '' then 'instructions' else 'prompt' end`;
  return `jsonb_build_object('grade', ${grade}, 'was', ${was}${kind})::text`;
}

const pieceBytes = 512 * 1024;
const pieceRows = 500;
export const pageRows = 1_000;

const writeTo = (table: DefinitionTable) => `/* catalog.write-${table.slice('catalog_'.length)} */ with
  input as (
    select * from jsonb_to_recordset($2::jsonb) as tool (tool text, "position" int, listed boolean, known boolean,
      before_hash text, before_change text, before_decision text, before_held text, definition text, hash text,
      published text, published_hash text, change text, decision text, held_definition text, held_hash text,
      held_published text, held_published_hash text, audit_id uuid, seen jsonb)),
  changed as (
    update ${table} as row set "position" = input."position", listed = input.listed,
      definition = coalesce(input.definition::json, row.definition),
      definition_hash = coalesce(input.hash, row.definition_hash),
      approved_at = case when input.hash is null then row.approved_at else clock_timestamp() end,
      published = input.published::json, published_hash = input.published_hash, change = input.change,
      decision = input.decision, held_definition = input.held_definition::json, held_hash = input.held_hash,
      held_published = input.held_published::json, held_published_hash = input.held_published_hash,
      changed_at = case when (row.change, row.held_hash) is not distinct from (input.change, input.held_hash)
        then row.changed_at else clock_timestamp() end
    from input
    where row.server = $1 and row.tool = input.tool and input.known
      and (row.definition_hash, row.change, row.decision, row.held_hash) is not distinct from
        (input.before_hash, input.before_change, input.before_decision, input.before_held)
    returning row.tool),
  added as (
    insert into ${table} (server, tool, "position", listed, definition, definition_hash, approved_at, published,
      published_hash, change, decision, held_definition, held_hash, held_published, held_published_hash)
    select $1, tool, "position", listed, definition::json, hash,
      case when hash is null then null else clock_timestamp() end, published::json, published_hash, change, decision,
      held_definition::json, held_hash, held_published::json, held_published_hash
    from input where not known
    on conflict do nothing returning tool),
  written as (select tool from changed union all select tool from added),
  audited as (
    insert into audit_events (id, at, kind, request_id, principal, server, tool, definition_hash, arguments, success, state)
    select audit_id, clock_timestamp(), 'definition_change', '', '', $1, tool, seen->>'hash',
      ${auditedChange(table, "seen->>'grade'", "seen->>'was'")}, true, seen->>'outcome'
    from input join written using (tool) where seen is not null and $3::boolean)
  select count(*)::int as written from written`;

export class PostgresDefinitions<Published> implements DefinitionStore<Published> {
  private readonly writing: string;

  constructor(
    private readonly table: DefinitionTable,
    protected readonly database: Database,
    private readonly audit: boolean,
  ) {
    this.writing = writeTo(table);
  }

  async known(server: string): Promise<KnownTool[]> {
    const known: KnownTool[] = [];
    for (;;) {
      const last = known.at(-1);
      const rows = await this.database.call((prisma) =>
        definitionRows(prisma, this.table).findMany({
          where: { server: storedText(server), ...(last === undefined ? {} : { tool: { gt: last.tool } }) },
          orderBy: { tool: 'asc' },
          take: pageRows,
          omit: { definition: true, published: true, heldDefinition: true, heldPublished: true },
        }),
      );
      known.push(...rows.map(toKnownTool));
      if (rows.length < pageRows) return known;
    }
  }

  async definitions(server: string, tools: readonly string[]): Promise<Map<string, JsonObject>> {
    const found = new Map<string, JsonObject>();
    for (let at = 0; at < tools.length; at += pieceRows) {
      const names = tools.slice(at, at + pieceRows).map(storedText);
      const rows = await this.database.call((prisma) =>
        definitionRows(prisma, this.table).findMany({
          where: { server: storedText(server), tool: { in: names } },
          select: { tool: true, definition: true },
        }),
      );
      for (const { tool, definition } of rows) if (definition !== null) found.set(tool, definition as JsonObject);
    }
    return found;
  }

  async write(server: string, writes: readonly ToolWrite<Published>[]): Promise<number> {
    let written = 0;
    for (const piece of inPieces(writes)) {
      const [row] = await this.database.call((prisma) =>
        prisma.$queryRawUnsafe<{ written: number }[]>(this.writing, storedText(server), arrayOf(piece), this.audit),
      );
      written += row!.written;
    }
    return written;
  }

  async forget(server: string, tools: readonly string[]): Promise<void> {
    for (let at = 0; at < tools.length; at += pieceRows) {
      const names = tools.slice(at, at + pieceRows).map(storedText);
      const where = { server: storedText(server), tool: { in: names }, definitionHash: null };
      await this.database.call((prisma) => definitionRows(prisma, this.table).deleteMany({ where }));
    }
  }
}

type KnownRow = Omit<CatalogToolRow, 'definition' | 'published' | 'heldDefinition' | 'heldPublished'>;

function toKnownTool({ change, decision, heldHash, ...row }: KnownRow): KnownTool {
  const { tool, position, definitionHash, publishedHash, listed, heldPublishedHash } = row;
  const held =
    change === null
      ? null
      : { grade: change as ChangeGrade, decision: decision as 'pending' | 'rejected', hash: heldHash };
  return { tool, position, definitionHash, publishedHash, listed, held, heldPublishedHash };
}

function toRow({ before, approved, published, held, seen, ...row }: ToolWrite<unknown>): JsonObject {
  return {
    ...row,
    tool: storedText(row.tool),
    known: before !== undefined,
    before_hash: before?.definitionHash ?? null,
    before_change: before?.held?.grade ?? null,
    before_decision: before?.held?.decision ?? null,
    before_held: before?.held?.hash ?? null,
    definition: approved === undefined ? null : storedJson(approved.definition),
    hash: approved?.hash ?? null,
    published: published === null ? null : storedJson(published.tool),
    published_hash: published?.hash ?? null,
    change: held?.grade ?? null,
    decision: held?.decision ?? null,
    held_definition: storedJsonOrNull(held?.definition),
    held_hash: held?.hash ?? null,
    held_published: storedJsonOrNull(held?.published?.tool),
    held_published_hash: held?.published?.hash ?? null,
    audit_id: uuidv7(),
    seen: seen === undefined ? null : { ...seen },
  };
}

/** A single row may exceed the piece size: it is then sent alone. */
function* inPieces(tools: readonly ToolWrite<unknown>[]): Generator<string[]> {
  let piece: string[] = [];
  let bytes = 0;
  for (const tool of tools) {
    const row = JSON.stringify(toRow(tool));
    if (piece.length > 0 && (piece.length >= pieceRows || bytes + row.length > pieceBytes)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(row);
    bytes += row.length;
  }
  if (piece.length > 0) yield piece;
}
