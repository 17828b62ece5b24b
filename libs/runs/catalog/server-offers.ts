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
  /** The only one to whom they are listed, because the server has listed them with the rights of this principal. */
  resourcesOf?: string;
  templates: OfferedTemplate[];
  prompts: OfferedPrompt[];
  /** It completes arguments of its prompts and templates. */
  completes: boolean;
  /** It announces changes of single resources. */
  subscribes: boolean;
}

/** What is pinned of them as definitions of tools are. Instructions have no name. */
export type PublishedPrompt = OfferedPrompt | (JsonObject & { instructions: string });

export const nameOfPrompt = ({ name }: PublishedPrompt): string => (typeof name === 'string' ? name : '');

/** The same with these prompts and instructions. */
export function withPrompts(
  { instructions: _listed, ...offers }: ServerOffers,
  published: readonly PublishedPrompt[],
): ServerOffers {
  const isNamed = (each: PublishedPrompt): each is OfferedPrompt => nameOfPrompt(each) !== '';
  const instructions = published.find((each) => !isNamed(each))?.['instructions'];
  return {
    ...offers,
    ...(typeof instructions === 'string' ? { instructions } : {}),
    prompts: published.filter(isNamed),
  };
}
