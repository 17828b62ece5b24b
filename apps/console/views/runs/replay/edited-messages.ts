// The conversation of a run before its first answer, and its last message of the user, which a replay may change. Pure.
import type { RunDetails } from '@signalbox/client';
import type { Json } from '../../../widgets/forms/form-schema.js';

export const askedMessages = ({ messages = [], round_list: [first] = [] }: RunDetails): Json[] =>
  messages.slice(0, first?.sent ?? messages.length);

interface UserMessage {
  role: 'user';
  content: string;
}

const isText = (message: Json): boolean => {
  const { role, content } = message as Partial<UserMessage>;
  return role === 'user' && typeof content === 'string';
};

/** Undefined if the last message of the user is no plain text. */
export function lastText(messages: readonly Json[]): string | undefined {
  const last = messages.findLast((message) => (message as { role?: unknown }).role === 'user');
  return last !== undefined && isText(last) ? (last as unknown as UserMessage).content : undefined;
}

export function withLastText(messages: readonly Json[], text: string): Json[] {
  const at = messages.findLastIndex(isText);
  return messages.map((message, index) => (index === at ? { ...(message as object), content: text } : message));
}
