// Arranges a history for families that require alternating roles: system text apart, and groups of assistant and of user
// messages. Results come first in the user group after their calls, in the order of the calls.
import {
  messageText,
  type AssistantMessage,
  type ChatMessage,
  type ToolMessage,
  type UserMessage,
} from '#libs/schemas/message.js';
import { arrangeResults } from './arrange-results.js';

export interface AssistantGroup {
  role: 'assistant';
  messages: AssistantMessage[];
}

export interface UserGroup {
  role: 'user';
  results: ToolMessage[];
  messages: UserMessage[];
}

export type Group = AssistantGroup | UserGroup;

export interface Conversation {
  /** '' if there is none. */
  system: string;
  groups: Group[];
}

export function readConversation(history: readonly ChatMessage[]): Conversation {
  const system: string[] = [];
  const groups: Group[] = [];
  for (const message of arrangeResults(history)) {
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(messageText(message.content));
        break;
      case 'assistant':
        groupOf('assistant', groups).messages.push(message);
        break;
      case 'user':
        groupOf('user', groups).messages.push(message);
        break;
      case 'tool':
        groupOf('user', groups).results.push(message);
    }
  }
  return { system: system.filter((text) => text.trim() !== '').join('\n\n'), groups };
}

/** The last group if it has that role, else a new one. */
function groupOf<Role extends 'user' | 'assistant'>(role: Role, groups: Group[]): Extract<Group, { role: Role }> {
  type Wanted = Extract<Group, { role: Role }>;
  const last = groups.at(-1);
  if (last?.role === role) return last as Wanted;
  const made: Group =
    role === 'user' ? { role: 'user', results: [], messages: [] } : { role: 'assistant', messages: [] };
  groups.push(made);
  return made as Wanted;
}
