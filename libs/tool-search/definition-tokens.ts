// How many tokens a tool costs a model in each request. An estimate without a tokenizer: no two models count alike.
import { keptFor } from '#libs/kept/kept-for.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { estimateTokens } from './estimate-tokens.js';

type CountedTool = Pick<CatalogTool, 'name' | 'description' | 'inputSchema'>;

/** The tokens of the definition as a model gets it: name, description and parameters. */
export const definitionTokens = keptFor(({ name, description, inputSchema: parameters }: CountedTool): number =>
  estimateTokens(JSON.stringify({ name, description, parameters })),
);
