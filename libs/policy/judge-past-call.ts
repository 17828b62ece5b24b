// Judges a call, or a read of a resource or prompt, in the audit by a policy. Redacted or truncated arguments differ from those that ran, which
// the digest reveals; rules that depend on them are then left undecided.
import { createHash } from 'node:crypto';
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { CompiledPolicy } from './compile-policy.js';
import type { Effect, JudgedKind, JudgedTool } from './decision.js';
import { decideAsKnown } from './explain.js';
import { judgedItem, type OfferedItem } from './judged-item.js';

export interface PastCall {
  /** What was called or read. The arguments name a resource or prompt, not `tool`. */
  kind: JudgedKind;
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
  const subject =
    call.kind === 'tool' ? calledTool(policy, call, { server, tool: name }, toolOf) : readItem(call.kind, server, call);
  if (subject === undefined)
    return { kind: 'unknown', because: `which ${call.kind} was read is not in the audit in full` };
  const { tool, isKnown, args } = subject;
  const caller = {
    principal: call.principal,
    ...(call.keyId === null ? {} : { keyId: call.keyId }),
    roles: call.keyId === null && call.principal === keylessPrincipal ? [] : undefined,
  };
  const { decision, missing } = decideAsKnown(policy, { tool, args, caller });
  if (decision === undefined) return { kind: 'unknown', because: `${missing}, which the audit does not have in full` };
  const { effect: now, rule } = decision;
  if (!isKnown && rule.startsWith('default:')) {
    return { kind: 'unknown', because: 'the default depends on a tool that is no longer in the catalog' };
  }
  const was = wasRefused ? 'refused' : wasAsked(call) ? 'require_approval' : 'allow';
  const isSame = was === 'refused' ? now !== 'allow' : was === now;
  return isSame ? { kind: 'same', now, rule } : { kind: 'changed', was, now, rule };
}

interface Subject {
  tool: JudgedTool;
  /** Everything that the defaults look at is known of it. */
  isKnown: boolean;
  /** Undefined also if no rule looks at them. */
  args: JsonObject | undefined;
}

function calledTool(
  policy: CompiledPolicy,
  call: PastCall,
  { server, tool: name }: { server: string; tool: string },
  toolOf: ToolOf,
): Subject {
  const known = toolOf(server, name, undefined);
  const tool = known ?? { server, tool: name, readOnly: false, annotations: {} };
  // Reading the arguments takes most of the time, and most rules do not look at them.
  const looks =
    known?.readOnlyWhen !== undefined || policy.rulesOfTool(tool).some(({ conditions }) => conditions.length > 0);
  const args = looks ? wholeArguments(call) : undefined;
  const called = args === undefined ? known : toolOf(server, name, args);
  return { tool: called ?? tool, isKnown: called !== undefined, args };
}

/** Undefined if the audit does not have its name. */
function readItem(kind: OfferedItem['kind'], server: string, call: PastCall): Subject | undefined {
  const args = wholeArguments(call);
  const name = args?.[kind === 'resource' ? 'uri' : 'name'];
  return typeof name === 'string' ? { tool: judgedItem({ kind, server, name }), isKnown: true, args } : undefined;
}

/** By the policy: a request may ask for approvals that the policy does not ask for. */
const wasAsked = ({ approvalId, policyRule }: PastCall): boolean => approvalId !== null && policyRule !== 'request';

/** Undefined if the kept arguments are not those that ran. */
function wholeArguments({ arguments: text, argumentsDigest }: PastCall): JsonObject | undefined {
  if (text === null || createHash('sha256').update(text).digest('hex') !== argumentsDigest) return undefined;
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : undefined;
}
