// What runs are listed by.
import type { JsonObject } from '#libs/schemas/json.js';
import { type ChatMessage, messageText } from '#libs/schemas/message.js';

export const runStates = ['running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted'] as const;
/** `waiting` is not stored: a call of the run is parked. */
export type ShownRunState = (typeof runStates)[number];

export interface RunFilter {
  state?: ShownRunState | undefined;
  /** As the caller named it, or `provider/model` of a model that answered. */
  model?: string | undefined;
  principal?: string | undefined;
  session?: string | undefined;
  /** `server/tool`, or a tool name on any server. */
  tool?: string | undefined;
  /** The code of the run's error. */
  error?: string | undefined;
  /** Found in the id of the run or in what was asked, ignoring case. */
  text?: string | undefined;
  since?: Date | undefined;
  /** Excludes runs of this time. */
  until?: Date | undefined;
}

/** `searched`: how many characters of what was asked are stored for the search. `given`: the longest text that is looked for. */
export const textBounds = { searched: 500, given: 200 } as const;

/** The beginning of the last message of the user. Null for a run that is no turn. */
export function askedOf(request: JsonObject): string | null {
  const { messages } = request as { messages?: ChatMessage[] };
  if (!Array.isArray(messages)) return null;
  const last = messages.findLast(({ role }) => role === 'user');
  return messageText(last?.content).slice(0, textBounds.searched);
}
