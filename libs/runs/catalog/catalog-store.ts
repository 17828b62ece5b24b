// The tools and prompts of all servers: approved definitions are offered, later changes may wait for an operator. The catalog is stored
// so that gateways know them while no worker runs, and so that approvals are not forgotten.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { PublishedPrompt, ServerOffers } from './server-offers.js';

/** A tool as a worker publishes it. Readers give names to equal tools of different servers. */
export type PublishedTool = Omit<CatalogTool, 'name' | 'available'>;

/** A change that waits for an operator, or was rejected. */
export interface HeldChange {
  grade: ChangeGrade;
  decision: 'pending' | 'rejected';
  /** Hash of the definition held back; null if it was removed. */
  hash: string | null;
}

/** The stored state of a tool, or of a prompt, without its definitions. */
export interface KnownTool {
  /** The server's own name of it. */
  tool: string;
  position: number;
  /** Hash of the approved definition; null for a new tool, which has none. */
  definitionHash: string | null;
  /** Hash of the offered definition; null if the tool is not offered. */
  publishedHash: string | null;
  /** False if the server listed the tool before, but not the last time. */
  listed: boolean;
  held: HeldChange | null;
  /** Hash of the definition that would be offered if the change were accepted. */
  heldPublishedHash: string | null;
}

/** The new state of one tool, or of a prompt. */
export interface ToolWrite<Published = PublishedTool> {
  tool: string;
  position: number;
  listed: boolean;
  /** The state that was read; if it has changed since, the tool is not written. Absent: the tool was unknown. */
  before?: Pick<KnownTool, 'definitionHash' | 'held'>;
  /** Absent: the approved definition stays. */
  approved?: { definition: JsonObject; hash: string };
  published: { tool: Published; hash: string } | null;
  held: (HeldChange & { definition: JsonObject | null; published: ToolWrite<Published>['published'] }) | null;
  /** A change just detected, for the audit. */
  seen?: { grade: ChangeGrade; outcome: 'allowed' | 'held'; hash: string | null; was: string | null };
}

export interface CatalogServerState {
  server: string;
  order: number;
  available: boolean;
  /** Changes whenever what the server offers changes. */
  revision: string;
}

/** For processes that offer the tools. @throws AppError store_unavailable */
export interface PublishedCatalog {
  /** The configured servers that have been listed. */
  servers(): Promise<CatalogServerState[]>;
  published(server: string): Promise<PublishedTool[]>;
  /** Undefined if no worker has published any. */
  offers(server: string): Promise<ServerOffers | undefined>;
}

/** The pinned definitions of one kind. @throws AppError store_unavailable */
export interface DefinitionStore<Published> {
  known(server: string): Promise<KnownTool[]>;
  /** The approved definitions of these. */
  definitions(server: string, names: readonly string[]): Promise<Map<string, JsonObject>>;
  /** Writes in pieces of bounded size. Resolves with the number of those written: all others had changed meanwhile. */
  write(server: string, writes: readonly ToolWrite<Published>[]): Promise<number>;
  /** Removes what was new and held back, and no longer exists. */
  forget(server: string, names: readonly string[]): Promise<void>;
}

/** For processes that list the servers. Its own definitions are the tools. @throws AppError store_unavailable */
export interface CatalogStore extends PublishedCatalog, DefinitionStore<PublishedTool> {
  /** Prompts and instructions. */
  readonly prompts: DefinitionStore<PublishedPrompt>;
  /** Registers the server; `firstListing`: none of its tools has been seen before. */
  place(server: string, order: number): Promise<{ firstListing: boolean }>;
  /** Publishes what the server offers besides tools; readers read it again if it, or a pinned definition of it, has changed. */
  writeOffers(server: string, offers: ServerOffers, pinnedChanged: boolean): Promise<void>;
  /** All listed tools are written: the server is available; `changed`: readers must read its tools again. */
  settle(server: string, changed: boolean): Promise<void>;
  markUnavailable(server: string): Promise<void>;
  /** Servers no longer configured offer nothing; the others take the order given here. */
  retain(servers: readonly string[]): Promise<void>;
  /** The output schema of an approved definition; null: it has none; undefined: no such definition. */
  outputSchema(server: string, definitionHash: string): Promise<JsonObject | null | undefined>;
}
