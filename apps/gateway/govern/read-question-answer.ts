// Checks the content of an answer to a tool server's question against the schema that the server sent. Fields that were not
// asked for are dropped.
import type { Approval, ApprovalDecision } from '#libs/approvals/approval.js';
import { maxAnswerBytes } from '#libs/approvals/question.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ArgumentValidator } from '../tools/tool-catalog.js';

/** @throws AppError invalid_value */
export async function readQuestionAnswer(
  { name, server, schema }: Approval,
  { arguments: content = {} }: ApprovalDecision,
  validator: ArgumentValidator,
): Promise<JsonObject> {
  const text = JSON.stringify(content);
  if (Buffer.byteLength(text) > maxAnswerBytes) throw invalid(`An answer may have at most ${maxAnswerBytes} bytes`);
  const inputSchema: JsonObject = { ...schema, additionalProperties: false };
  const definitionHash = canonicalHash(['question', inputSchema]);
  const read = validator.validate({ name, server, definitionHash, inputSchema }, text);
  if (!read.ok) throw invalid(read.message);
  return read.arguments;
}

const invalid = (message: string) => new AppError('invalid_value', message, { param: 'arguments' });
