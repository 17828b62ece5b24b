// A turn that is done, as the next one must be shown it: from its request, its stored rounds and its answer.
import type { RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { AssistantMessage, ChatMessage } from '#libs/schemas/message.js';
import type { TurnAnswer } from '../fold-turn.js';
import { restoreHistory, restoredResults, toAssistant } from './restore-history.js';
import { lastRound } from './retell-run.js';
import type { TurnRequest } from '../turn-request.js';

export interface RecalledTurn {
  /** Whose files it worked on, or would have. */
  sessionId?: string;
  /** Complete; instructions are of their own turn and not among them. */
  history: ChatMessage[];
  /** The message whose calls wait for the caller's results, where the turn ended with some. */
  open?: AssistantMessage;
}

/** Of a run that is done. */
export async function recallTurn(run: StoredRun, runs: RunStore): Promise<RecalledTurn> {
  const request = run.request as unknown as TurnRequest;
  const answer = run.answer as unknown as TurnAnswer;
  const asked = await restoreHistory(request.messages, run.principal, runs);
  const past = [...(request.history ?? []), ...asked];
  const session = run.sessionId === undefined ? {} : { sessionId: run.sessionId };
  if (answer.toolCalls.length > 0) {
    const { text } = answer.choices[0]!;
    const open: AssistantMessage = {
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: answer.toolCalls,
    };
    return { ...session, history: past, open };
  }
  const rounds = await runs.rounds(run.id);
  const said = rounds.flatMap((round): ChatMessage[] => [toAssistant(round), ...restoredResults(round, new Map())]);
  const { content } = lastRound(answer, rounds);
  if (content !== '') said.push({ role: 'assistant', content });
  return { ...session, history: [...past, ...said] };
}
