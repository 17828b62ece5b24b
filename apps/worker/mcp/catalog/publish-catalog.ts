// Publishes the approved definitions of a server's listing to the gateways (see plan-publication.ts), and reports changes.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { announceCatalog } from '#libs/runs/catalog/announce-catalog.js';
import type { CatalogStore, DefinitionStore, PublishedTool } from '#libs/runs/catalog/catalog-store.js';
import { withPrompts } from '#libs/runs/catalog/server-offers.js';
import { type ChangeGrade, shownDefinition } from '#libs/schemas/tool-change.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ListedOffers } from '../servers/list-pages.js';
import type { ServerListing } from './list-server.js';
import { pinnedPrompts, promptDefinitions } from './pinned-prompts.js';
import { needsDefinition, type Pinned, planPublication, type Publication } from './plan-publication.js';
import { toolsOf } from './published-tool.js';
import { readOffers } from './read-offers.js';
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

/** All definitions of one kind that a server lists. */
interface ListedKind<Published> {
  pinned: Pinned<Published>;
  store: DefinitionStore<Published>;
  listed: readonly ListedDefinition[];
  /** Nothing of this kind of the server has been seen before. */
  firstListing: boolean;
}

export class CatalogPublisher {
  constructor(private readonly parts: PublisherParts) {}

  /** Resolves with the offered tools, and what is left out, with reasons. @throws AppError store_unavailable */
  async publish(
    server: ConfiguredServer,
    listing: Pick<ServerListing, 'tools' | 'leftOut' | 'offers' | 'principal'>,
  ): Promise<{ published: PublishedTool[]; leftOut: string[] }> {
    const { store, limits, logger } = this.parts;
    const { definitions, refused } = await readDefinitions(listing.tools, limits);
    const { firstListing } = await store.place(server.name, server.order);
    const others =
      listing.offers === undefined ? [] : await this.writeOffers(server, listing.offers, listing.principal);
    const tools = { pinned: toolsOf(server), store, listed: definitions, firstListing };
    const { published, refused: twice, changed } = await this.pin(server, tools);
    await store.settle(server.name, changed);
    const leftOut = [...listing.leftOut, ...refused, ...twice, ...others];
    if (leftOut.length > 0) {
      const metadata = { server: server.name, refused: leftOut.slice(0, namesInLog), count: leftOut.length };
      logger.warn({ metadata }, 'tools, resources or prompts were left out');
    }
    await announceCatalog(this.parts);
    return { published, leftOut };
  }

  /** Resolves with what was left out. */
  private async writeOffers(server: ConfiguredServer, listed: ListedOffers, principal?: string): Promise<string[]> {
    const { store } = this.parts;
    const { prompts } = store;
    const { offers, refused } = readOffers(server, listed, principal);
    const before = await store.offers(server.name);
    const kind = { pinned: pinnedPrompts, store: prompts, firstListing: before === undefined };
    // What a version before this one published has been seen, although nothing of it is pinned.
    const seen = before === undefined ? [] : promptDefinitions(before);
    if (seen.length > 0 && (await prompts.known(server.name)).length === 0) {
      await this.pin(server, { ...kind, listed: seen, firstListing: true });
    }
    const { published, changed } = await this.pin(server, { ...kind, listed: promptDefinitions(offers) });
    await store.writeOffers(server.name, withPrompts(offers, published), changed);
    return refused;
  }

  private async pin<Published>(server: ConfiguredServer, kind: ListedKind<Published>): Promise<Publication<Published>> {
    const { pinned, store, listed, firstListing } = kind;
    let changed = false;
    for (let left = maxAttempts; ; left -= 1) {
      const known = await store.known(server.name);
      const approved = await store.definitions(server.name, needsDefinition(listed, known));
      const plan = await planPublication({ server, pinned, listed, known, approved, firstListing });
      const written = await store.write(server.name, plan.writes);
      await store.forget(server.name, plan.forgotten);
      changed ||= plan.changed;
      this.report(server, pinned, plan);
      if (written === plan.writes.length || left === 1) return { ...plan, changed };
    }
  }

  private report(
    server: ConfiguredServer,
    { kindOf }: Pick<Pinned<unknown>, 'kindOf'>,
    { writes }: Publication<unknown>,
  ): void {
    const seen = writes.flatMap(({ tool, seen: change }) => (change === undefined ? [] : [{ tool, ...change }]));
    for (const { grade, outcome } of seen) this.parts.onChange?.(grade, outcome);
    for (const outcome of ['allowed', 'held'] as const) {
      const these = seen.filter((each) => each.outcome === outcome);
      if (these.length === 0) continue;
      const named = these
        .slice(0, namesInLog)
        .map(({ tool, grade }) => `${shownDefinition(kindOf(tool), tool)} (${grade})`);
      const metadata = { server: server.name, tools: named, count: these.length };
      if (outcome === 'allowed') this.parts.logger.info({ metadata }, 'definitions of a server have changed');
      else
        this.parts.logger.warn(
          { metadata },
          'changed definitions of a server are held back until an operator accepts them',
        );
    }
  }

  async markUnavailable(server: string): Promise<void> {
    await this.parts.store.markUnavailable(server);
    await announceCatalog(this.parts);
  }

  /** Keeps only these servers, in this order. @throws AppError store_unavailable */
  async retain(servers: readonly string[]): Promise<void> {
    await this.parts.store.retain(servers);
    await announceCatalog(this.parts);
  }
}
