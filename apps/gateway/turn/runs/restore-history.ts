// Restores the parts of a posted history that its caller never saw: server calls and results of mixed turns, and data that a
// provider wants returned.
import type { RunStore, StoredRound } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { isStoredCallId, isMintedCallId } from '#libs/schemas/identifiers.js';
import { type AssistantMessage, type ChatMessage, messageText, type ToolMessage } from '#libs/schemas/message.js';
import { failedOutcome, isEnded } from '#libs/schemas/tool-outcome.js';
import type { TurnRequest } from '../turn-request.js';
import { type AnsweredRound, askedBy } from '../wait.js';
import { toToolMessage } from '../turn-state.js';

export interface Restored {
  messages: ChatMessage[];
  /** Rounds with calls that wait for an approval, or were running when their turn was cut. */
  open: OpenRound[];
}

export interface OpenRound extends AnsweredRound {
  /** The conversation's placeholders for results of the round's calls, by call id. */
  results: Map<string, ToolMessage>;
}

/** The restored conversation of a request. @throws the errors of restoreHistory */
export async function conversationOf(request: TurnRequest, principal: string, runs: RunStore): Promise<Restored> {
  const { messages, open } = await restoreHistory(request.messages, principal, runs);
  return { messages: conversation(request, messages), open };
}

/** The messages of a request after its instructions and history. */
export function conversation({ instructions, history }: TurnRequest, messages: ChatMessage[]): ChatMessage[] {
  if (instructions === undefined && history === undefined) return [...messages];
  const first: ChatMessage[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  return [...first, ...(history ?? []), ...messages];
}

/** The ids of calls whose turns may be stored. */
export const mintedCallIds = (messages: readonly ChatMessage[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'assistant' ? (message.tool_calls ?? []).map((call) => call.id).filter(isMintedCallId) : [],
  );

type Found = Awaited<ReturnType<RunStore['findByCalls']>>;

/**
 * The history as the model must see it. Stored data takes precedence over the caller's version.
 * @throws AppError turn_expired when a call of a stored turn is no longer kept, or never belonged to this principal
 */
export async function restoreHistory(messages: ChatMessage[], principal: string, runs: RunStore): Promise<Restored> {
  const ids = mintedCallIds(messages);
  if (ids.length === 0) return { messages, open: [] };
  const kept = ids.filter(isStoredCallId);
  const found = await find(runs, principal, ids, kept.length > 0);
  const expired = kept.find((id) => !found.has(id));
  if (expired !== undefined) {
    throw new AppError('turn_expired', `The turn of the call ${expired} is no longer stored; start it again`, {
      param: 'messages',
    });
  }
  return found.size === 0 ? { messages, open: [] } : rewrite(messages, found);
}

async function find(runs: RunStore, principal: string, ids: string[], needed: boolean): Promise<Found> {
  try {
    return await runs.findByCalls(principal, ids);
  } catch (error) {
    // While the store is unavailable, a chat continues unless it needs stored data.
    if (needed) throw error;
    return new Map();
  }
}

function rewrite(messages: ChatMessage[], found: Found): Restored {
  const restored: ChatMessage[] = [];
  const open: OpenRound[] = [];
  const answers = answersIn(messages);
  // A caller may post the results of a round anywhere.
  const given = new Map<string, ToolMessage>();
  for (const message of messages) if (message.role === 'tool') given.set(message.tool_call_id, message);
  const put = new Set<StoredRound>();
  /** Calls of restored messages, whose results are restored with them. */
  const settled = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool' && settled.has(message.tool_call_id)) continue;
    const turn = message.role === 'assistant' ? turnOf(message, found) : undefined;
    if (message.role !== 'assistant' || turn === undefined) {
      restored.push(message);
      continue;
    }
    for (const { id } of message.tool_calls ?? []) settled.add(id);
    // After a repeated request for approval, the caller sends the message of the same round twice.
    for (const round of turn.filter((each) => !put.has(each))) {
      put.add(round);
      const results = restoredResults(round, given);
      restored.push(toAssistant(round), ...results);
      if (round.calls.every(({ kind, state }) => kind === 'client' || isEnded(state))) continue;
      const byId = new Map(results.map((result) => [result.tool_call_id, result]));
      open.push({ round, results: byId, answers });
    }
  }
  return { messages: restored, open };
}

function answersIn(messages: readonly ChatMessage[]): Map<string, string[]> {
  const answers = new Map<string, string[]>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    const content = messageText(message.content);
    const known = answers.get(message.tool_call_id);
    if (known === undefined) answers.set(message.tool_call_id, [content]);
    else known.push(content);
  }
  return answers;
}

function turnOf(message: AssistantMessage, found: Found): StoredRound[] | undefined {
  for (const call of message.tool_calls ?? []) {
    const turn = found.get(call.id);
    if (turn !== undefined) return turn.rounds;
  }
  return undefined;
}

export function toAssistant(round: StoredRound): AssistantMessage {
  return {
    role: 'assistant',
    content: round.content === '' && round.toolCalls.length > 0 ? null : round.content,
    ...(round.toolCalls.length === 0 ? {} : { tool_calls: round.toolCalls }),
    ...(round.reasoning === '' ? {} : { reasoning_content: round.reasoning }),
    ...(round.providerState === undefined ? {} : { provider_state: round.providerState }),
  };
}

/** One message per call, in call order: results of server calls from the journal, results of client calls as posted. */
export function restoredResults(round: StoredRound, given: Map<string, ToolMessage>): ToolMessage[] {
  return round.calls.flatMap((call) => {
    // The model does not see approvals.
    if (askedBy(call) !== undefined) return [];
    if (call.kind === 'client') return given.get(call.id) ?? [];
    return toToolMessage(call.id, call.outcome ?? unknownOutcome);
  });
}

export const unknownOutcome = failedOutcome(
  'indeterminate',
  'tool_outcome_unknown',
  'The outcome of this call is unknown',
);
