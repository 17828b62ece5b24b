// Judges a call in the audit by a policy. Redacted or truncated arguments differ from those that ran, which
// the digest reveals; rules that depend on them are then left undecided.
import { createHash } from 'node:crypto';
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { CompiledPolicy } from './compile-policy.js';
import type { Effect, JudgedTool } from './decision.js';
import { explain } from './explain.js';

export interface PastCall {
  principal: string;
  keyId: string | null;
  server: string | null;
  tool: string | null;
  arguments: string | null;
  argumentsDigest: string | null;
  state: string | null;
  errorCode: string | null;
  policyRule: string | null;
}

export type Judgement =
  | { kind: 'same' }
  /** There was no decision: an unknown tool, arguments that violate the schema, or a bound. */
  | { kind: 'undecided' }
  | { kind: 'changed'; was: Effect | 'refused'; now: Effect; rule: string }
  | { kind: 'unknown'; because: string };

/** The catalog's data of a tool, or of a call of it if the arguments are known. */
export type ToolOf = (server: string, tool: string, args: JsonObject | undefined) => JudgedTool | undefined;

export function judgePastCall(policy: CompiledPolicy, call: PastCall, toolOf: ToolOf): Judgement {
  const wasRefused = call.errorCode === 'tool_denied';
  const before = call.errorCode === 'tool_not_found' || call.errorCode === 'invalid_tool_arguments';
  if (!call.server || !call.tool || before || (wasRefused && call.policyRule === null)) return { kind: 'undecided' };
  const args = wholeArguments(call);
  const known = toolOf(call.server, call.tool, args);
  const tool = known ?? { server: call.server, tool: call.tool, readOnly: false, annotations: {} };
  const caller = {
    principal: call.principal,
    ...(call.keyId === null ? {} : { keyId: call.keyId }),
    roles: call.keyId === null && call.principal === keylessPrincipal ? [] : undefined,
  };
  const { decision, missing } = explain(policy, { tool, args, caller });
  if (decision === undefined) return { kind: 'unknown', because: `${missing}, which the audit does not have in full` };
  if (known === undefined && decision.rule.startsWith('default:')) {
    return { kind: 'unknown', because: 'the default depends on a tool that is no longer in the catalog' };
  }
  if ((decision.effect === 'allow') !== wasRefused) return { kind: 'same' };
  return { kind: 'changed', was: wasRefused ? 'refused' : 'allow', now: decision.effect, rule: decision.rule };
}

/** Undefined if the kept arguments are not those that ran. */
function wholeArguments({ arguments: text, argumentsDigest }: PastCall): JsonObject | undefined {
  if (text === null || createHash('sha256').update(text).digest('hex') !== argumentsDigest) return undefined;
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : undefined;
}
