// The published tools of all servers, kept so that a gateway knows them while no worker runs.
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

/** As a worker publishes it: names among servers are the reader's matter. */
export type PublishedTool = Omit<CatalogTool, 'name' | 'available'>;

export interface CatalogStore {
  /** Replaces the tools of one server; its `order` is the place in the configuration. */
  publish(server: string, order: number, tools: readonly PublishedTool[]): Promise<void>;
  markUnavailable(server: string): Promise<void>;
  /** Servers no longer configured go; the others have the place that they have here. */
  retain(servers: readonly string[]): Promise<void>;
  read(): Promise<{ server: string; order: number; available: boolean; tools: PublishedTool[] }[]>;
}
