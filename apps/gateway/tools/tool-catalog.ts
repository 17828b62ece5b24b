// The tools that exist, served from memory.
import type { ServerOffers } from '#libs/runs/catalog/server-offers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export interface SearchOptions {
  limit: number;
  isShown: (tool: CatalogTool) => boolean;
  signal: AbortSignal;
}

export interface ToolCatalog {
  /** Finds a tool by bare name or `server__tool`; in a toolset, by the name that the set shows. */
  find(name: string, toolset?: string): CatalogTool | undefined;
  /** The tools of one server or toolset, or all tools. */
  list(label?: string): readonly CatalogTool[];
  /** Whether a server, or a toolset, has this name. */
  hasServer(label: string): boolean;
  /** Whether this is the name of a toolset. */
  isToolset(label: string): boolean;
  /** The best for a query, among those of a toolset, or all, that `isShown` accepts (tool-finder.ts). @throws the signal's reason */
  search(query: string, options: SearchOptions, toolset?: string): Promise<readonly CatalogTool[]>;
  /** Changes whenever a listed tool changes; the ETag of `GET /api/tools`. */
  readonly version: string;
}

/** A server with what it offers besides tools. */
export interface OfferingServer {
  server: string;
  offers: ServerOffers;
}

export interface OfferCatalog {
  /** The servers in the order of the configuration; another array after every change. */
  offering(): readonly OfferingServer[];
}

/** Which lists have changed. */
export interface ChangedLists {
  tools: boolean;
  resources: boolean;
  prompts: boolean;
}

interface Watched extends OfferCatalog {
  /** Returns a function that stops listening. */
  onChange(listener: (changed: ChangedLists) => void): () => void;
}

/** A catalog with change notifications. */
export interface WatchedToolCatalog extends ToolCatalog, Watched {}

/** What all servers list together, without sets and without a search. */
export interface ServerTools extends Omit<ToolCatalog, 'isToolset' | 'search'>, Watched {}

/** `sent`: the arguments as they were sent, if they were converted. */
export type ValidatedArguments =
  { ok: true; arguments: JsonObject; sent?: JsonObject } | { ok: false; message: string };

/** A tool, or a question, with a schema for its input. */
export type SchemaOwner = Pick<CatalogTool, 'name' | 'server' | 'definitionHash' | 'inputSchema'>;

export interface ArgumentValidator {
  /**
   * Parses JSON text and checks the value against the tool's input schema; bounded in time and size. Defaults are filled in. Texts
   * of a model that the schema does not accept are converted where nothing is lost.
   */
  validate(tool: SchemaOwner, argumentsText: string, from?: 'model'): ValidatedArguments;
}
