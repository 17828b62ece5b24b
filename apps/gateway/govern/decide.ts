// The one port to the policy: it decides about every server call before the call is journaled, on the arguments that run.
import type { JudgedTool, PolicyDecision } from '#libs/policy/decision.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';

export type Decide = (tool: JudgedTool, args: JsonObject, context: RequestContext) => PolicyDecision;

export interface ApprovalSettings {
  expiresMs: number;
  /** A webhook is configured. */
  notify: boolean;
}

/** The outcome of a call that the policy denies, for model and caller. */
export function deniedOutcome(tool: Pick<CatalogTool, 'name'>, decision: PolicyDecision): ToolOutcome {
  return failedOutcome('denied', 'tool_denied', whyDenied(tool, decision));
}

export const whyDenied = ({ name }: Pick<CatalogTool, 'name'>, { rule, reason }: PolicyDecision): string =>
  `The rule '${rule}' does not allow this call of '${name}'${reason === undefined ? '' : `: ${reason}`}`;
