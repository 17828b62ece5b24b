// Tools that run at the provider (`web_search` …): each API has its own, and they are sent to no other.
import type { ProviderTool } from '#libs/schemas/tool-definition.js';
import type { Warnings } from './warnings.js';

/** The tools that this API has; each other tool gets a warning. `api` undefined: no tools. */
export function providerToolsOf(
  tools: readonly ProviderTool[],
  api: ProviderTool['api'] | undefined,
  warnings: Pick<Warnings, 'add'>,
): readonly ProviderTool[] {
  return tools.filter((each) => {
    if (each.api === api) return true;
    warnings.add(`The model's provider has no tool '${each.tool.type}', so it was left out`, 'tools');
    return false;
  });
}
