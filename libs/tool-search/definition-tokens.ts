// How many tokens a tool costs a model in each request. An estimate without a tokenizer: no two models count alike.
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { estimateTokens } from './estimate-tokens.js';

type CountedTool = Pick<CatalogTool, 'name' | 'description' | 'inputSchema'>;

const counted = new WeakMap<CountedTool, number>();

/** The tokens of the definition as a model gets it: name, description and parameters. Counted once for each object. */
export function definitionTokens(tool: CountedTool): number {
  const known = counted.get(tool);
  if (known !== undefined) return known;
  const { name, description, inputSchema: parameters } = tool;
  const tokens = estimateTokens(JSON.stringify({ name, description, parameters }));
  counted.set(tool, tokens);
  return tokens;
}
