// Says what the policy decides about a call that somebody describes. Administrators may ask for anybody, others for themselves: what they
// learn is what such a call would tell them.
import { allowsTool } from '#libs/access/access.js';
import type { KeyStore, StoredKey } from '#libs/access/key-store.js';
import { type AskedCall, explain, type Explanation } from '#libs/policy/explain.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { z } from 'zod';
import type { OpenDraft } from '../../govern/drafts/policy-drafts.js';
import type { ToolPolicy } from '../../govern/tool-policy.js';
import type { ArgumentValidator } from '../../tools/tool-catalog.js';
import { toolOfCall } from '../../tools/tool-of-call.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { explainRequest, policyExplanation } from '../openapi/policy-shapes.js';

type Asked = z.output<typeof explainRequest>;

export interface ExplainPorts {
  policy: Pick<ToolPolicy, 'inForce'>;
  keys: Pick<KeyStore, 'inForce'>;
  validator: ArgumentValidator;
}

interface Subject {
  principal: string;
  keyId: string | undefined;
  roles: readonly string[];
  /** Absent: everything is allowed. */
  access: Parameters<typeof allowsTool>[0];
}

/** Whom the question is about. @throws AppError insufficient_scope, not_found for a key that does not exist or is not in force */
export async function subjectOf(
  asked: Asked,
  caller: RequestContext,
  isAdmin: boolean,
  keys: ExplainPorts['keys'],
): Promise<Subject> {
  const { principal, key_id: keyId, roles } = asked;
  const own = { principal: caller.principal, keyId: caller.keyId, roles: caller.roles ?? [], access: caller.access };
  if (!isAdmin) {
    const isOwn =
      (principal ?? own.principal) === own.principal &&
      (keyId === undefined || keyId === own.keyId) &&
      (roles === undefined || (roles.length === own.roles.length && roles.every((role) => own.roles.includes(role))));
    if (isOwn && asked.policy === undefined) return own;
    throw new AppError('insufficient_scope', 'Asking for other callers, or about a draft, requires the scope admin');
  }
  if (keyId === undefined) {
    return principal === undefined && roles === undefined
      ? own
      : { principal: principal ?? own.principal, keyId: undefined, roles: roles ?? [], access: undefined };
  }
  const key: StoredKey | undefined = await keys.inForce(keyId);
  if (key === undefined) throw new AppError('not_found', 'There is no valid key with this id', { param: 'key_id' });
  return { principal: principal ?? key.owner, keyId, roles: roles ?? key.roles, access: key };
}

/** @throws AppError tool_not_found */
export async function explainPolicy(
  asked: Asked,
  subject: Subject,
  { policy: { inForce }, validator }: Pick<ExplainPorts, 'policy' | 'validator'>,
  { draft, isWhole }: { draft?: OpenDraft; isWhole: boolean },
): Promise<Shown<typeof policyExplanation>> {
  const [server, name] = splitOnce(asked.tool);
  const { principal, keyId, roles, access } = subject;
  const shown = { tool: asked.tool, principal, roles: [...roles], key_id: keyId ?? null };
  const keyAllows = allowsTool(access, { server, tool: name });
  if (!keyAllows && !isWhole) {
    return { ...shown, key_allows: false, decision: null, tried: [], arguments_problem: null };
  }
  const tool = inForce.tools.find((each) => each.server === server && each.tool === name);
  const given = (asked.arguments ?? {}) as JsonObject;
  const checked = tool === undefined ? undefined : validator.validate(tool, JSON.stringify(given));
  const args = checked?.ok === true ? checked.arguments : given;
  const call: AskedCall = {
    tool: tool === undefined ? { server, tool: name, readOnly: false, annotations: {} } : toolOfCall(tool, args),
    args,
    caller: { principal, roles, ...(keyId === undefined ? {} : { keyId }) },
  };
  const explanation: Explanation = draft === undefined ? explain(inForce.policy, call) : await draft.explain(call);
  const decision = explanation.decision!;
  if (tool === undefined && (!isWhole || decision.rule.startsWith('default'))) {
    throw new AppError('tool_not_found', `There is no tool '${asked.tool.slice(0, 256)}'`, { param: 'tool' });
  }
  return {
    ...shown,
    key_allows: keyAllows,
    decision,
    // Rules for others are nobody else's business.
    tried: explanation.tried.filter(({ matched, differs }) => isWhole || matched || differs === 'arguments'),
    arguments_problem: checked?.ok === false ? checked.message : null,
  };
}

function splitOnce(text: string): [server: string, tool: string] {
  const slash = text.indexOf('/');
  return [text.slice(0, slash), text.slice(slash + 1)];
}
