// The tools of all servers: what was approved of each is offered, what has changed since may wait beside it. Kept so that
// a gateway knows them while no worker runs, and so that what was approved once is not forgotten.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

/** As a worker publishes it: names among servers are the reader's matter. */
export type PublishedTool = Omit<CatalogTool, 'name' | 'available'>;

/** A change that waits for an operator, or that one has refused. */
export interface HeldChange {
  grade: ChangeGrade;
  decision: 'pending' | 'rejected';
  /** Of the definition that is held back; null where the tool was removed. */
  hash: string | null;
}

/** What is known of one tool, without its definitions. */
export interface KnownTool {
  /** The server's own name for it. */
  tool: string;
  position: number;
  /** Of the approved definition; null: none is, the tool is new. */
  definitionHash: string | null;
  /** Of what is offered of it; null: nothing is. */
  publishedHash: string | null;
  /** False: the server listed it once, but not the last time. */
  listed: boolean;
  held: HeldChange | null;
  /** Of what would be offered if the held back definition were accepted. */
  heldPublishedHash: string | null;
}

/** What shall be known of one tool from now on. */
export interface ToolWrite {
  tool: string;
  position: number;
  listed: boolean;
  /** As it was read: what someone else has changed since is left as it is. Absent: it was not known. */
  before?: Pick<KnownTool, 'definitionHash' | 'held'>;
  /** Absent: what was approved stays so. */
  approved?: { definition: JsonObject; hash: string };
  published: { tool: PublishedTool; hash: string } | null;
  held: (HeldChange & { definition: JsonObject | null; published: ToolWrite['published'] }) | null;
  /** A change that was seen just now, for the audit. */
  seen?: { grade: ChangeGrade; outcome: 'allowed' | 'held'; hash: string | null; was: string | null };
}

export interface CatalogServerState {
  server: string;
  order: number;
  available: boolean;
  /** Another one whenever what is offered has changed. */
  revision: string;
}

/** For whoever offers the tools. @throws AppError store_unavailable */
export interface PublishedCatalog {
  /** The configured servers that have been listed. */
  servers(): Promise<CatalogServerState[]>;
  published(server: string): Promise<PublishedTool[]>;
}

/** For whoever lists the servers. @throws AppError store_unavailable */
export interface CatalogStore extends PublishedCatalog {
  /** From now on the server has a place; `firstListing`: nothing that it lists has been seen before. */
  place(server: string, order: number): Promise<{ firstListing: boolean }>;
  known(server: string): Promise<KnownTool[]>;
  /** The approved definitions of these tools. */
  definitions(server: string, tools: readonly string[]): Promise<Map<string, JsonObject>>;
  /** In pieces of bounded size. Resolves with how many were written: the others had changed meanwhile. */
  write(server: string, tools: readonly ToolWrite[]): Promise<number>;
  /** New tools that were held back and are gone. */
  forget(server: string, tools: readonly string[]): Promise<void>;
  /** All that was listed is written: the server is available; `changed`: readers must read its tools again. */
  settle(server: string, changed: boolean): Promise<void>;
  markUnavailable(server: string): Promise<void>;
  /** Servers no longer configured offer nothing; the others have the place that they have here. */
  retain(servers: readonly string[]): Promise<void>;
  /** The output schema of an approved definition; null: it has none; undefined: there is no such definition. */
  outputSchema(server: string, definitionHash: string): Promise<JsonObject | null | undefined>;
}
