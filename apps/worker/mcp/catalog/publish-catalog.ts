// Publishes the approved definitions of a server's listing to the gateways (see plan-publication.ts), and reports changes.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import type { CatalogStore, PublishedTool, ToolWrite } from '#libs/runs/catalog/catalog-store.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ListedOffers } from '../servers/list-pages.js';
import type { ServerListing } from './list-server.js';
import { needsDefinition, planPublication, type Publication } from './plan-publication.js';
import { readOffers, withHeldInstructions } from './read-offers.js';
import { readDefinitions, type ListedDefinition, type SchemaLimits } from './read-definitions.js';

/** Planning is repeated if another worker or an operator has written the same tools. */
const maxAttempts = 4;
const namesInLog = 50;

export interface PublisherParts {
  store: CatalogStore;
  channels: Channels;
  limits: SchemaLimits;
  onChange?: ((grade: ChangeGrade, outcome: 'allowed' | 'held') => void) | undefined;
  logger: Logger;
}

export class CatalogPublisher {
  constructor(private readonly parts: PublisherParts) {}

  /** Resolves with the offered tools, and what is left out, with reasons. @throws AppError store_unavailable */
  async publish(
    server: ConfiguredServer,
    { tools, leftOut: unmade, offers }: Pick<ServerListing, 'tools' | 'leftOut' | 'offers'>,
  ): Promise<{ published: PublishedTool[]; leftOut: string[] }> {
    const { store, limits, logger } = this.parts;
    const { definitions, refused } = await readDefinitions(tools, limits);
    const { firstListing } = await store.place(server.name, server.order);
    const others = offers === undefined ? [] : await this.writeOffers(server, offers);
    const { published, refused: twice } = await this.write(server, definitions, firstListing);
    const leftOut = [...unmade, ...refused, ...twice, ...others];
    if (leftOut.length > 0) {
      const metadata = { server: server.name, refused: leftOut.slice(0, namesInLog), count: leftOut.length };
      logger.warn({ metadata }, 'tools, resources or prompts were left out');
    }
    await this.announce();
    return { published, leftOut };
  }

  /** Resolves with what was left out. */
  private async writeOffers(server: ConfiguredServer, listed: ListedOffers): Promise<string[]> {
    const { store, logger } = this.parts;
    const read = readOffers(server, listed);
    const { offers, held } = withHeldInstructions(read.offers, await store.offers(server.name), server);
    await store.writeOffers(server.name, offers);
    if (held) {
      const metadata = { server: server.name };
      logger.warn({ metadata }, 'changed instructions of a server are held back: its tools.changes.wording is `hold`');
    }
    return read.refused;
  }

  private async write(server: ConfiguredServer, listed: readonly ListedDefinition[], firstListing: boolean) {
    const { store } = this.parts;
    let changed = false;
    for (let left = maxAttempts; ; left -= 1) {
      const known = await store.known(server.name);
      const approved = await store.definitions(server.name, needsDefinition(listed, known));
      const plan = await planPublication({ server, listed, known, approved, firstListing });
      const written = await store.write(server.name, plan.writes);
      await store.forget(server.name, plan.forgotten);
      changed ||= plan.changed;
      this.report(server, plan);
      if (written < plan.writes.length && left > 1) continue;
      await store.settle(server.name, changed);
      return plan;
    }
  }

  private report(server: ConfiguredServer, { writes }: Publication): void {
    const seen = writes.flatMap((write) => (write.seen === undefined ? [] : [{ ...write, seen: write.seen }]));
    for (const { seen: change } of seen) this.parts.onChange?.(change.grade, change.outcome);
    for (const outcome of ['allowed', 'held'] as const) {
      const of = seen.filter((each) => each.seen.outcome === outcome);
      if (of.length > 0) this.log(server, outcome, of);
    }
  }

  private log(
    server: ConfiguredServer,
    outcome: 'allowed' | 'held',
    changes: readonly Required<Pick<ToolWrite, 'tool' | 'seen'>>[],
  ) {
    const tools = changes.slice(0, namesInLog).map(({ tool, seen }) => `${tool} (${seen.grade})`);
    const metadata = { server: server.name, tools, count: changes.length };
    if (outcome === 'allowed') this.parts.logger.info({ metadata }, 'tools of a server have changed');
    else this.parts.logger.warn({ metadata }, 'changed tools of a server are held back until an operator accepts them');
  }

  async markUnavailable(server: string): Promise<void> {
    await this.parts.store.markUnavailable(server);
    await this.announce();
  }

  /** Keeps only these servers, in this order. @throws AppError store_unavailable */
  async retain(servers: readonly string[]): Promise<void> {
    await this.parts.store.retain(servers);
    await this.announce();
  }

  /** A lost message is harmless: gateways also poll slowly. */
  private async announce(): Promise<void> {
    try {
      await this.parts.channels.publish(channelNames.catalog, '{"version":1}', AbortSignal.timeout(2_000));
    } catch (error) {
      this.parts.logger.warn({ error }, 'a change of the catalog could not be announced');
    }
  }
}
