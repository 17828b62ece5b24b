// The seat of the policy: every server call asks here before it is journaled. There are no rules yet, so all is allowed.
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export interface Decision {
  effect: 'allow' | 'deny' | 'require_approval';
  /** The rule that decided, for the audit row; shown to the model with a denial. */
  rule: string;
  reason?: string;
}

export type Decide = (tool: CatalogTool, args: JsonObject, context: RequestContext) => Decision;

export const decide: Decide = () => ({ effect: 'allow', rule: 'default' });
