// Checks what people give with a decision, by what the kind of the wait takes: edited arguments are checked as a model's are, and
// judged by the policy again; the content of an answer by the schema that the tool server sent, without what was not asked for. A
// sign-in can only be refused here.
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { maxAnswerBytes, withDefaults } from '#libs/waits/question.js';
import type { Wait, WaitDecision } from '#libs/waits/wait.js';
import { waitKinds } from '#libs/waits/wait-kinds.js';
import type { ArgumentValidator, ToolCatalog } from '../tools/tool-catalog.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import { type Decide, whyDenied } from './decide.js';

export interface DecisionPorts {
  catalog: Pick<ToolCatalog, 'find'>;
  validator: ArgumentValidator;
  decide: Decide;
}

/** The decision with what it gives, checked. @throws AppError invalid_tool_arguments, invalid_value, tool_denied */
export async function checkDecision(
  wait: Wait,
  decision: WaitDecision,
  ports: DecisionPorts,
  caller: RequestContext,
): Promise<WaitDecision> {
  const { arguments: given, ...rest } = decision;
  if (decision.decision === 'deny') return rest;
  if (waitKinds[wait.kind].answer === 'connection') {
    // The address is for whoever the call is for.
    const where = wait.principal === caller.principal ? `: open ${wait.authorizationUrl}` : '';
    const message = `Only signing in at the tool server '${wait.server}' lets this call run${where}`;
    throw new AppError('invalid_value', message, { param: 'decision' });
  }
  if (waitKinds[wait.kind].answer === 'content') return { ...rest, arguments: contentOf(wait, given ?? {}, ports) };
  return given === undefined ? rest : { ...rest, arguments: editedOf(wait, given, ports, caller) };
}

function contentOf({ name, server, schema }: Wait, content: JsonObject, { validator }: DecisionPorts): JsonObject {
  const text = JSON.stringify(withDefaults(schema ?? {}, content));
  if (Buffer.byteLength(text) > maxAnswerBytes) {
    throw invalid('invalid_value', `An answer may have at most ${maxAnswerBytes} bytes`);
  }
  const inputSchema: JsonObject = { ...schema, additionalProperties: false };
  const definitionHash = canonicalHash(['question', inputSchema]);
  const read = validator.validate({ name, server, definitionHash, inputSchema }, text);
  if (!read.ok) throw invalid('invalid_value', read.message);
  return read.arguments;
}

function editedOf(wait: Wait, args: JsonObject, ports: DecisionPorts, caller: RequestContext): JsonObject {
  const found = ports.catalog.find(wait.name);
  if (found === undefined || found.definitionHash !== wait.definitionHash) {
    const message = `'${wait.name}' has changed since the call was made: its arguments cannot be edited`;
    throw invalid('invalid_tool_arguments', message);
  }
  const read = ports.validator.validate(found, JSON.stringify(args));
  if (!read.ok) throw invalid('invalid_tool_arguments', read.message);
  // The policy judges the principal that made the call, not the approver.
  const asker = { ...caller, principal: wait.principal, ...(wait.keyId === null ? {} : { keyId: wait.keyId }) };
  const decision = ports.decide(toolOfCall(found, read.arguments), read.arguments, asker);
  if (decision.effect === 'deny') throw new AppError('tool_denied', whyDenied(wait, decision), { param: 'arguments' });
  return read.arguments;
}

const invalid = (code: 'invalid_value' | 'invalid_tool_arguments', message: string) =>
  new AppError(code, message, { http: 400, param: 'arguments' });
