// What a tool server may ask while a call of it runs, and the answers that it gets (MCP elicitation, form mode). Pure.
import type { JsonObject } from '#libs/schemas/json.js';
import type { Approval } from './approval.js';

export interface Question {
  message: string;
  /** Of an object with flat members: strings, numbers, booleans, choices. */
  schema: JsonObject;
}

export type Answer = { action: 'accept'; content: JsonObject } | { action: 'decline' } | { action: 'cancel' };

/** One after the other; a server that asks more is refused. */
export const maxQuestionsOfCall = 10;
export const maxQuestionLength = 4_000;
/** In bytes of JSON. */
export const maxQuestionSchemaBytes = 16 * 1024;
export const maxAnswerBytes = 64 * 1024;

/** What the server is told; undefined while nobody has decided. */
export function answerOf({ state, answer }: Pick<Approval, 'state' | 'answer'>): Answer | undefined {
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
