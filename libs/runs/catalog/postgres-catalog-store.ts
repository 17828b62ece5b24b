// The catalog on PostgreSQL: one row per server, one per tool, one per prompt.
import type { Database } from '#libs/postgres/open-database.js';
import { storedJson, storedText } from '#libs/postgres/stored-text.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { CatalogServerState, CatalogStore, PublishedTool } from './catalog-store.js';
import { pageRows, PostgresDefinitions } from './postgres-definitions.js';
import { type PublishedPrompt, type ServerOffers, withPrompts } from './server-offers.js';

/** How many removed tools, and removed prompts, of a server are remembered. */
const goneKept = 10_000;

const forgetGone = (table: 'catalog_tools' | 'catalog_prompts') => `
    delete from ${table} where server = $1 and not listed and change is null and tool in (
      select tool from ${table} where server = $1 and not listed and change is null
      order by changed_at desc offset ${goneKept})`;

const settleServer = `/* catalog.settle */ with
  forgotten_tools as (${forgetGone('catalog_tools')}),
  forgotten_prompts as (${forgetGone('catalog_prompts')})
  update catalog_servers set available = true, updated_at = clock_timestamp(),
    first_listed_at = coalesce(first_listed_at, clock_timestamp()), revision = revision + case when $2 then 1 else 0 end
  where server = $1`;

export interface CatalogStoreOptions {
  /** False writes no audit rows (`audit.enabled`). */
  audit?: boolean;
}

export class PostgresCatalogStore extends PostgresDefinitions<PublishedTool> implements CatalogStore {
  readonly prompts: PostgresDefinitions<PublishedPrompt>;

  constructor(database: Database, { audit = true }: CatalogStoreOptions = {}) {
    super('catalog_tools', database, audit);
    this.prompts = new PostgresDefinitions('catalog_prompts', database, audit);
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

  async writeOffers(server: string, offers: ServerOffers, pinnedChanged: boolean): Promise<void> {
    await this.database.call(
      (prisma) => prisma.$executeRaw`/* catalog.offers */
        with written as (
          insert into catalog_offers (server, offers, hash)
          values (${storedText(server)}, ${storedJson(offers)}::json, ${canonicalHash(offers)})
          on conflict (server) do update set offers = excluded.offers, hash = excluded.hash
          where catalog_offers.hash <> excluded.hash or ${pinnedChanged}
          returning server)
        update catalog_servers set revision = revision + 1 where server in (select server from written)`,
    );
  }

  async offers(server: string): Promise<ServerOffers | undefined> {
    const where = { server: storedText(server) };
    const [row, pinned] = await Promise.all([
      this.database.call((prisma) => prisma.catalogOffers.findUnique({ where })),
      this.database.call((prisma) =>
        prisma.catalogPrompt.findMany({
          where,
          orderBy: [{ position: 'asc' }, { tool: 'asc' }],
          select: { published: true },
        }),
      ),
    ]);
    if (row === null) return undefined;
    const offers = row.offers as unknown as ServerOffers;
    // A worker of a version before this one pins nothing.
    if (pinned.length === 0) return offers;
    const published = pinned.flatMap((each) => (each.published === null ? [] : [each.published as PublishedPrompt]));
    return withPrompts(offers, published);
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
