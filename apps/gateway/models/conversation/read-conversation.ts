// Arranges a history for families that require alternating roles: system text apart, user and assistant in turn. The
// results of an assistant turn come first in the user turn after it, in the order of the calls.
import {
  messageText,
  type AssistantMessage,
  type ChatMessage,
  type ToolMessage,
  type UserMessage,
} from '#libs/schemas/message.js';

export interface AssistantTurn {
  role: 'assistant';
  messages: AssistantMessage[];
}

export interface UserTurn {
  role: 'user';
  /** Results of the calls of the assistant turn before. */
  results: ToolMessage[];
  messages: UserMessage[];
}

export type Turn = AssistantTurn | UserTurn;

export interface Conversation {
  /** '' if there is none. */
  system: string;
  turns: Turn[];
}

export function readConversation(history: readonly ChatMessage[]): Conversation {
  const system: string[] = [];
  const turns: Turn[] = [];
  for (const message of history) {
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(messageText(message.content));
        break;
      case 'assistant':
        turnOf('assistant', turns).messages.push(message);
        break;
      case 'user':
        turnOf('user', turns).messages.push(message);
        break;
      case 'tool':
        turnOf('user', turns).results.push(message);
    }
  }
  turns.forEach((turn, at) => {
    if (turn.role === 'user') turn.results = inCallOrder(turn.results, turns[at - 1]);
  });
  return { system: system.filter((text) => text !== '').join('\n\n'), turns };
}

/** The last turn if it has that role, else a new one. */
function turnOf<Role extends 'user' | 'assistant'>(role: Role, turns: Turn[]): Extract<Turn, { role: Role }> {
  type Wanted = Extract<Turn, { role: Role }>;
  const last = turns.at(-1);
  if (last?.role === role) return last as Wanted;
  const made: Turn =
    role === 'user' ? { role: 'user', results: [], messages: [] } : { role: 'assistant', messages: [] };
  turns.push(made);
  return made as Wanted;
}

/** One result for each call: the last one given. */
function inCallOrder(results: ToolMessage[], turn: Turn | undefined): ToolMessage[] {
  const byId = new Map(results.map((result) => [result.tool_call_id, result]));
  const ids = turn?.role === 'assistant' ? turn.messages.flatMap((message) => message.tool_calls ?? []) : [];
  const ordered = ids.flatMap(({ id }) => byId.get(id) ?? []);
  return [...ordered, ...[...byId.values()].filter((result) => !ordered.includes(result))];
}
