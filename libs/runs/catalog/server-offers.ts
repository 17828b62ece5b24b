// What a tool server offers besides tools, as the catalog stores it: one document a server.
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export type OfferedResource = JsonObject & { uri: string; name: string };
export type OfferedTemplate = JsonObject & { uriTemplate: string; name: string };
export type OfferedPrompt = JsonObject & { name: string };

export interface ServerOffers {
  /** How its calls run, as those of its tools do. */
  call: Pick<CatalogTool, 'isolation' | 'stateful' | 'forwardHeaders' | 'timeoutMs' | 'maxTimeoutMs'>;
  /** What the server tells clients and their models about itself. */
  instructions?: string;
  resources: OfferedResource[];
  templates: OfferedTemplate[];
  prompts: OfferedPrompt[];
  /** It completes arguments of its prompts and templates. */
  completes: boolean;
  /** It announces changes of single resources. */
  subscribes: boolean;
}
