// Judges a call in the audit by a policy. Redacted or truncated arguments differ from those that ran, which
// the digest reveals; rules that depend on them are then left undecided.
import { createHash } from 'node:crypto';
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { CompiledPolicy } from './compile-policy.js';
import type { Effect, JudgedTool } from './decision.js';
import { decideAsKnown } from './explain.js';

export interface PastCall {
  principal: string;
  keyId: string | null;
  server: string | null;
  tool: string | null;
  arguments: string | null;
  argumentsDigest: string | null;
  errorCode: string | null;
  policyRule: string | null;
  /** Set if the call waited for an approval. */
  approvalId: string | null;
}

/** What became of a call: a refused one may have been denied, or could not be asked about. */
export type PastEffect = 'allow' | 'require_approval' | 'refused';

export type Judgement =
  | { kind: 'same'; now: Effect; rule: string }
  /** There was no decision: an unknown tool, arguments that violate the schema, or a bound. */
  | { kind: 'undecided' }
  | { kind: 'changed'; was: PastEffect; now: Effect; rule: string }
  | { kind: 'unknown'; because: string };

/** The catalog's data of a tool, or of a call of it if the arguments are known. */
export type ToolOf = (server: string, tool: string, args: JsonObject | undefined) => JudgedTool | undefined;

export function judgePastCall(policy: CompiledPolicy, call: PastCall, toolOf: ToolOf): Judgement {
  const { server, tool: name, errorCode, policyRule } = call;
  const wasRefused = errorCode === 'tool_denied';
  const wasBefore = errorCode === 'tool_not_found' || errorCode === 'invalid_tool_arguments';
  const byKey = errorCode === 'tool_forbidden';
  if (!server || !name || wasBefore || ((wasRefused || byKey) && policyRule === null)) return { kind: 'undecided' };
  let known = toolOf(server, name, undefined);
  const tool = known ?? { server, tool: name, readOnly: false, annotations: {} };
  // Reading the arguments takes most of the time, and most rules do not look at them.
  const looks =
    known?.readOnlyWhen !== undefined || policy.rulesOfTool(tool).some(({ conditions }) => conditions.length > 0);
  const args = looks ? wholeArguments(call) : undefined;
  if (args !== undefined) known = toolOf(server, name, args);
  const caller = {
    principal: call.principal,
    ...(call.keyId === null ? {} : { keyId: call.keyId }),
    roles: call.keyId === null && call.principal === keylessPrincipal ? [] : undefined,
  };
  const { decision, missing } = decideAsKnown(policy, { tool: known ?? tool, args, caller });
  if (decision === undefined) return { kind: 'unknown', because: `${missing}, which the audit does not have in full` };
  const { effect: now, rule } = decision;
  if (known === undefined && rule.startsWith('default:')) {
    return { kind: 'unknown', because: 'the default depends on a tool that is no longer in the catalog' };
  }
  const was = wasRefused ? 'refused' : wasAsked(call) ? 'require_approval' : 'allow';
  const isSame = was === 'refused' ? now !== 'allow' : was === now;
  return isSame ? { kind: 'same', now, rule } : { kind: 'changed', was, now, rule };
}

/** By the policy: a request may ask for approvals that the policy does not ask for. */
const wasAsked = ({ approvalId, policyRule }: PastCall): boolean => approvalId !== null && policyRule !== 'request';

/** Undefined if the kept arguments are not those that ran. */
function wholeArguments({ arguments: text, argumentsDigest }: PastCall): JsonObject | undefined {
  if (text === null || createHash('sha256').update(text).digest('hex') !== argumentsDigest) return undefined;
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : undefined;
}
