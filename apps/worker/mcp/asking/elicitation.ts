// Questions that a server asks while a call of it runs (`elicitation/create`, form mode), read and bounded. Never cut: half a
// question misleads.
import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  type ElicitResult,
} from '@modelcontextprotocol/client';
import { type Answer, maxQuestionLength, maxQuestionSchemaBytes, type Question } from '#libs/waits/question.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

const primitives: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

/** @throws ProtocolError if the question is not supported */
export function readQuestion(params: { [member: string]: unknown }): Question {
  const { mode = 'form', message, requestedSchema } = params;
  if (mode !== 'form') throw refused(`questions of mode '${String(mode).slice(0, 32)}' are not supported`);
  if (typeof message !== 'string' || message.length > maxQuestionLength) {
    throw refused(`the message of a question may have at most ${maxQuestionLength} characters`);
  }
  const schema = flatSchema(requestedSchema);
  if (schema === undefined) throw refused('the schema of a question must be an object with flat properties');
  if (Buffer.byteLength(JSON.stringify(schema)) > maxQuestionSchemaBytes) {
    throw refused(`the schema of a question may have at most ${maxQuestionSchemaBytes} bytes`);
  }
  return { message, schema };
}

export function toElicitResult(answer: Answer): ElicitResult {
  return answer.action === 'accept'
    ? { action: 'accept', content: answer.content as NonNullable<ElicitResult['content']> }
    : { action: answer.action };
}

/** In the older eras the server gets the error and may go on. In the newer one the call ends with the error. */
export function asAskingError(method: string, error: unknown, era: string | undefined): unknown {
  if (era !== 'modern' || !(error instanceof ProtocolError)) return error;
  const notFound: number = ProtocolErrorCode.MethodNotFound;
  return error.code === notFound
    ? new SdkError(SdkErrorCode.CapabilityNotSupported, error.message, { method })
    : new AppError('tool_failed', `The tool asked a question that cannot be shown: ${error.message}`);
}

/** Whether the SDK refused a question in an answer of the newer era. Its code looks like one for wrong arguments. */
export function isBrokenQuestion(error: unknown): boolean {
  return error instanceof ProtocolError && error.message.startsWith('Invalid elicitation request');
}

export const nobodyAnswers = () =>
  new ProtocolError(ProtocolErrorCode.MethodNotFound, 'This client does not support that request');
export const refused = (why: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, why);

function flatSchema(schema: unknown): JsonObject | undefined {
  if (!isJsonObject(schema) || schema['type'] !== 'object') return undefined;
  const { properties = {}, required } = schema;
  if (!isJsonObject(properties) || !Object.values(properties).every(isFlat)) return undefined;
  return { type: 'object', properties, ...(Array.isArray(required) ? { required } : {}) };
}

/** A flat member is a primitive or a multiple choice. */
function isFlat(member: unknown): boolean {
  if (!isJsonObject(member)) return false;
  if (primitives.has(member['type'])) return true;
  const { items } = member;
  return member['type'] === 'array' && isJsonObject(items) && ('enum' in items || 'anyOf' in items);
}
