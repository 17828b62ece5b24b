// The catalog on PostgreSQL: one row per server, one per tool. Only differences are written, in bounded statements.
import type { CatalogTool as CatalogToolRow } from '#libs/postgres/prisma-client/client.js';
import type { Database } from '#libs/postgres/open-database.js';
import { arrayOf, storedJson, storedJsonOrNull, storedText } from '#libs/postgres/stored-text.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { CatalogServerState, CatalogStore, KnownTool, PublishedTool, ToolWrite } from './catalog-store.js';
import type { ServerOffers } from './server-offers.js';

const pieceBytes = 512 * 1024;
const pieceRows = 500;
const pageRows = 1_000;
/** How many removed tools of a server are remembered. */
const goneKept = 10_000;

const writeTools = `/* catalog.write */ with
  input as (
    select * from jsonb_to_recordset($2::jsonb) as tool (tool text, "position" int, listed boolean, known boolean,
      before_hash text, before_change text, before_decision text, before_held text, definition text, hash text,
      published text, published_hash text, change text, decision text, held_definition text, held_hash text,
      held_published text, held_published_hash text, audit_id uuid, seen jsonb)),
  changed as (
    update catalog_tools as row set "position" = input."position", listed = input.listed,
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
    insert into catalog_tools (server, tool, "position", listed, definition, definition_hash, approved_at, published,
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
      jsonb_build_object('grade', seen->>'grade', 'was', seen->>'was')::text, true, seen->>'outcome'
    from input join written using (tool) where seen is not null and $3::boolean)
  select count(*)::int as written from written`;

const settleServer = `/* catalog.settle */ with
  forgotten as (
    delete from catalog_tools where server = $1 and not listed and change is null and tool in (
      select tool from catalog_tools where server = $1 and not listed and change is null
      order by changed_at desc offset ${goneKept}))
  update catalog_servers set available = true, updated_at = clock_timestamp(),
    first_listed_at = coalesce(first_listed_at, clock_timestamp()), revision = revision + case when $2 then 1 else 0 end
  where server = $1`;

export interface CatalogStoreOptions {
  /** False writes no audit rows (`audit.enabled`). */
  audit?: boolean;
}

export class PostgresCatalogStore implements CatalogStore {
  private readonly audit: boolean;

  constructor(
    private readonly database: Database,
    { audit = true }: CatalogStoreOptions = {},
  ) {
    this.audit = audit;
  }

  async place(server: string, order: number): Promise<{ firstListing: boolean }> {
    const rows = await this.database.call(
      (prisma) => prisma.$queryRaw<{ first: boolean }[]>`/* catalog.place */
        insert into catalog_servers (server, "position", available) values (${storedText(server)}, ${order}, false)
        on conflict (server) do update set "position" = excluded."position", configured = true
        returning first_listed_at is null as first`,
    );
    return { firstListing: rows[0]!.first };
  }

  async known(server: string): Promise<KnownTool[]> {
    const known: KnownTool[] = [];
    for (;;) {
      const after = known.at(-1)?.tool ?? '';
      const rows = await this.database.call((prisma) =>
        prisma.catalogTool.findMany({
          where: { server: storedText(server), tool: { gt: after } },
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
        prisma.catalogTool.findMany({
          where: { server: storedText(server), tool: { in: names } },
          select: { tool: true, definition: true },
        }),
      );
      for (const { tool, definition } of rows) if (definition !== null) found.set(tool, definition as JsonObject);
    }
    return found;
  }

  async write(server: string, tools: readonly ToolWrite[]): Promise<number> {
    let written = 0;
    for (const piece of inPieces(tools)) {
      const [row] = await this.database.call((prisma) =>
        prisma.$queryRawUnsafe<{ written: number }[]>(writeTools, storedText(server), arrayOf(piece), this.audit),
      );
      written += row!.written;
    }
    return written;
  }

  async writeOffers(server: string, offers: ServerOffers): Promise<void> {
    await this.database.call(
      (prisma) => prisma.$executeRaw`/* catalog.offers */
        with written as (
          insert into catalog_offers (server, offers, hash)
          values (${storedText(server)}, ${storedJson(offers)}::json, ${canonicalHash(offers)})
          on conflict (server) do update set offers = excluded.offers, hash = excluded.hash
          where catalog_offers.hash <> excluded.hash
          returning server)
        update catalog_servers set revision = revision + 1 where server in (select server from written)`,
    );
  }

  async offers(server: string): Promise<ServerOffers | undefined> {
    const row = await this.database.call((prisma) =>
      prisma.catalogOffers.findUnique({ where: { server: storedText(server) } }),
    );
    return row === null ? undefined : (row.offers as unknown as ServerOffers);
  }

  async forget(server: string, tools: readonly string[]): Promise<void> {
    for (let at = 0; at < tools.length; at += pieceRows) {
      const names = tools.slice(at, at + pieceRows).map(storedText);
      const where = { server: storedText(server), tool: { in: names }, definitionHash: null };
      await this.database.call((prisma) => prisma.catalogTool.deleteMany({ where }));
    }
  }

  async settle(server: string, changed: boolean): Promise<void> {
    await this.database.call((prisma) => prisma.$executeRawUnsafe(settleServer, storedText(server), changed));
  }

  async markUnavailable(server: string): Promise<void> {
    await this.database.call((prisma) =>
      prisma.catalogServer.updateMany({ where: { server: storedText(server) }, data: { available: false } }),
    );
  }

  async retain(servers: readonly string[]): Promise<void> {
    const names = servers.map(storedText);
    await this.database.call(
      (prisma) => prisma.$executeRaw`/* catalog.retain */
        with gone as (
          update catalog_servers set configured = false where configured and server <> all(${names}::text[]))
        update catalog_servers set "position" = place.ordinality - 1, configured = true
        from unnest(${names}::text[]) with ordinality as place (server, ordinality)
        where catalog_servers.server = place.server and ("position" <> place.ordinality - 1 or not configured)`,
    );
  }

  async servers(): Promise<CatalogServerState[]> {
    const rows = await this.database.call((prisma) =>
      prisma.catalogServer.findMany({
        where: { configured: true, firstListedAt: { not: null } },
        orderBy: [{ position: 'asc' }, { server: 'asc' }],
      }),
    );
    return rows.map(({ server, position, available, revision }) => ({
      server,
      order: position,
      available,
      revision: String(revision),
    }));
  }

  async published(server: string): Promise<PublishedTool[]> {
    const tools: PublishedTool[] = [];
    for (let after = { position: -1, tool: '' }; ;) {
      const rows = await this.database.call(
        (prisma) => prisma.$queryRaw<{ position: number; tool: string; published: PublishedTool }[]>`/* catalog.read */
          select "position", tool, published from catalog_tools
          where server = ${storedText(server)} and published is not null
            and ("position", tool) > (${after.position}, ${after.tool})
          order by "position", tool limit ${pageRows}`,
      );
      for (const row of rows) tools.push(row.published);
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageRows) return tools;
      after = last;
    }
  }

  async outputSchema(server: string, definitionHash: string): Promise<JsonObject | null | undefined> {
    const row = await this.database.call((prisma) =>
      prisma.catalogTool.findFirst({
        where: { server: storedText(server), definitionHash: storedText(definitionHash) },
        select: { definition: true },
      }),
    );
    if (row === null) return undefined;
    const schema = (row.definition as JsonObject)['outputSchema'];
    return isJsonObject(schema) ? schema : null;
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

function toRow({ before, approved, published, held, seen, ...row }: ToolWrite): JsonObject {
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
function* inPieces(tools: readonly ToolWrite[]): Generator<string[]> {
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
