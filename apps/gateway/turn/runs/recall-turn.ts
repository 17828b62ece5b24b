// Makes the messages of a completed turn, for the next turn: from the request, the stored rounds and the answer.
import type { RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { AssistantMessage, ChatMessage } from '#libs/schemas/message.js';
import type { TurnAnswer } from '../fold-turn.js';
import { restoreHistory, restoredResults, toAssistant } from './restore-history.js';
import { lastRound } from '../replay-events.js';
import type { TurnRequest } from '../turn-request.js';

export interface RecalledTurn {
  /** The session of the turn. */
  sessionId?: string;
  /** All messages except instructions, which apply to one turn only. */
  history: ChatMessage[];
  /** The message with the calls whose results the caller owes; restored when the results come. */
  open?: ChatMessage[];
}

/** `run` must be completed. */
export async function recallTurn(run: StoredRun, runs: RunStore): Promise<RecalledTurn> {
  const request = run.request as unknown as TurnRequest;
  const answer = run.answer as unknown as TurnAnswer;
  const { history = [] } = request;
  const rounds = await runs.rounds(run.id);
  const past = async () => [...history, ...(await restoreHistory(request.messages, run.principal, runs)).messages];
  const session = run.sessionId === undefined ? {} : { sessionId: run.sessionId };
  if (answer.toolCalls.length > 0) {
    const { text } = answer.choices[0]!;
    const open: AssistantMessage = {
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: answer.toolCalls,
    };
    // A turn that only repeated a request for approval ends with calls of an earlier turn, and has no rounds of its own.
    if (rounds.length === 0) return { ...session, history, open: [...request.messages, open] };
    return { ...session, history: await past(), open: [open] };
  }
  const said = rounds.flatMap((round): ChatMessage[] => [toAssistant(round), ...restoredResults(round, new Map())]);
  const { content } = lastRound(answer, rounds);
  if (content !== '') said.push({ role: 'assistant', content });
  return { ...session, history: [...(await past()), ...said] };
}
