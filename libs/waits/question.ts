// Questions of a tool server to people while a call of it runs, and their answers (MCP elicitation, form mode). Pure.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { Wait } from './wait.js';

export interface Question {
  message: string;
  /** The schema of an object with flat members: strings, numbers, booleans, choices. */
  schema: JsonObject;
}

export type Answer = { action: 'accept'; content: JsonObject } | { action: 'decline' } | { action: 'cancel' };

/** How many questions a call may ask, one after the other. */
export const maxQuestionsOfCall = 10;
export const maxQuestionLength = 4_000;
/** In bytes of JSON. */
export const maxQuestionSchemaBytes = 16 * 1024;
export const maxAnswerBytes = 64 * 1024;

/** `content` with the defaults of the members that it leaves out, as clients of MCP fill them in (SEP-1034). */
export function withDefaults({ properties }: JsonObject, content: JsonObject): JsonObject {
  const defaults = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, member]) =>
    isJsonObject(member) && member['default'] !== undefined ? [[name, member['default']] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...content };
}

/** The answer for the server; undefined while nobody has decided. */
export function answerOf({ state, answer }: Pick<Wait, 'state' | 'answer'>): Answer | undefined {
  switch (state) {
    case 'waiting':
      return undefined;
    case 'approved':
      return { action: 'accept', content: answer ?? {} };
    case 'denied':
      return { action: 'decline' };
    default:
      return { action: 'cancel' };
  }
}
