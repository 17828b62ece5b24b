// The seat of the policy: every server call asks here before it is journaled, on the validated arguments that are run.
import type { Decision, JudgedTool } from '#libs/policy/decision.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';

export type Decide = (tool: JudgedTool, args: JsonObject, context: RequestContext) => Decision;

/** What model and caller are told of a call that may not run. */
export function refusalOf(tool: Pick<CatalogTool, 'name'>, { effect, reason }: Decision): ToolOutcome {
  const denied = `Tool '${tool.name}' is not allowed here`;
  if (effect === 'deny') return failedOutcome('denied', 'tool_denied', reason ?? denied);
  const message =
    `${reason ?? denied}: the call needs an approval, and this version has none; ` +
    'the operator can allow it with a policy rule';
  return failedOutcome('denied', 'tool_denied', message);
}
