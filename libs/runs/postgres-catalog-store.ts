// The published tools on PostgreSQL: one row a server, replaced as a whole.
import type { Database } from '#libs/database/open-database.js';
import { storedText } from '#libs/database/stored-text.js';
import type { CatalogStore, PublishedTool } from './catalog-store.js';

export class PostgresCatalogStore implements CatalogStore {
  constructor(private readonly database: Database) {}

  async publish(server: string, order: number, tools: readonly PublishedTool[]): Promise<void> {
    await this.database.call(
      (prisma) => prisma.$executeRaw`/* catalog.publish */
        insert into catalog_servers (server, "position", available, tools, updated_at)
        values (${storedText(server)}, ${order}, true, ${JSON.stringify(tools)}::json, clock_timestamp())
        on conflict (server) do update set "position" = excluded."position", available = true, tools = excluded.tools,
          updated_at = excluded.updated_at`,
    );
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
        with gone as (delete from catalog_servers where server <> all(${names}::text[]))
        update catalog_servers set "position" = place.ordinality - 1
        from unnest(${names}::text[]) with ordinality as place (server, ordinality)
        where catalog_servers.server = place.server and "position" <> place.ordinality - 1`,
    );
  }

  async read(): Promise<{ server: string; order: number; available: boolean; tools: PublishedTool[] }[]> {
    const rows = await this.database.call((prisma) =>
      prisma.catalogServer.findMany({ orderBy: [{ position: 'asc' }, { server: 'asc' }] }),
    );
    return rows.map(({ server, position, available, tools }) => ({
      server,
      order: position,
      available,
      tools: tools as unknown as PublishedTool[],
    }));
  }
}
