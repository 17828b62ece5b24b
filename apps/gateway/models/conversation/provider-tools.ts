// Tools that run at the provider (`web_search` …): each API has its own, and they are sent to no other.
import type { ProviderTool } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import type { Warnings } from './warnings.js';

const none: readonly ProviderTool[] = [];

/** The tools of a request that this API has; the others get a warning. `api` undefined: it has none. */
export function providerToolsOf(
  { providerTools }: Pick<ModelRequest, 'providerTools'>,
  api: ProviderTool['api'] | undefined,
  warnings: Pick<Warnings, 'add'>,
): readonly ProviderTool[] {
  if (providerTools === undefined) return none;
  const foreign = providerTools.filter((tool) => tool.api !== api);
  for (const { tool } of foreign) {
    warnings.add(`The model's provider has no tool '${tool.type}', so it was left out`, 'tools');
  }
  return foreign.length === 0 ? providerTools : providerTools.filter((tool) => tool.api === api);
}
