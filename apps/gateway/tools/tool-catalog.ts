// The tools that exist, served from memory.
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export interface ToolCatalog {
  /** By bare name or `server__tool`. */
  find(name: string): CatalogTool | undefined;
  /** Of one server, or all. */
  list(server?: string): readonly CatalogTool[];
  hasServer(server: string): boolean;
  /** Changes whenever a listed tool does; the ETag of `GET /api/tools`. */
  readonly version: string;
}

/** A catalog that says when it has changed. */
export interface WatchedToolCatalog extends ToolCatalog {
  /** Returns what to call when it need not be told any more. */
  onChange(listener: () => void): () => void;
}

/** `sent`: as they were sent, if they had to be converted. */
export type ValidatedArguments =
  { ok: true; arguments: JsonObject; sent?: JsonObject } | { ok: false; message: string };

/** What has arguments of a kind. */
export type SchemaOwner = Pick<CatalogTool, 'name' | 'server' | 'definitionHash' | 'inputSchema'>;

export interface ArgumentValidator {
  /**
   * Parses JSON text and checks it against the tool's input schema; bounded in time and size. Defaults are filled in. Of a
   * model's arguments, texts that the schema does not accept are converted where that loses nothing.
   */
  validate(tool: SchemaOwner, argumentsText: string, from?: 'model'): ValidatedArguments;
}
