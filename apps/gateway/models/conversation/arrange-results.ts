// Puts the results of calls directly behind them, in the order of the calls, as every family requires. Callers may post them
// in another order, repeated, or spread over several messages. Invents no result where there is none.
import type { AssistantMessage, ChatMessage, ToolMessage } from '#libs/schemas/message.js';

/** The results of assistant messages with no other message in between. */
interface Round {
  ids: string[];
  /** The last result given, by the id of its call. */
  results: Map<string, ToolMessage>;
  /** Messages without calls behind one with calls. */
  rest: AssistantMessage[];
}

/** A history that is in order already is returned as the same object. */
export function arrangeResults(history: readonly ChatMessage[]): readonly ChatMessage[] {
  if (isInOrder(history)) return history;
  const places: (ChatMessage | Round)[] = [];
  /** The last round by the ids of its calls: some callers reuse ids. */
  const rounds = new Map<string, Round>();
  let open: Round | undefined;
  for (const message of history) {
    if (message.role === 'assistant') {
      open ??= { ids: [], results: new Map(), rest: [] };
      const { tool_calls: calls = [] } = message;
      (calls.length === 0 && open.ids.length > 0 ? open.rest : places).push(message);
      for (const { id } of calls) {
        open.ids.push(id);
        rounds.set(id, open);
      }
      continue;
    }
    if (open !== undefined) places.push(open);
    open = undefined;
    const round = message.role === 'tool' ? rounds.get(message.tool_call_id) : undefined;
    if (message.role === 'tool' && round !== undefined) round.results.set(message.tool_call_id, message);
    else places.push(message);
  }
  if (open !== undefined) places.push(open);
  return places.flatMap((place) =>
    'role' in place ? [place] : [...place.ids.flatMap((id) => place.results.get(id) ?? []), ...place.rest],
  );
}

/** Whether each result stands behind its call, in the order of the calls. Calls without a result are no disorder. */
function isInOrder(history: readonly ChatMessage[]): boolean {
  for (let at = 0; at < history.length; at++) {
    const message = history[at]!;
    if (message.role === 'tool') return false;
    if (message.role !== 'assistant' || message.tool_calls === undefined) continue;
    for (const { id } of message.tool_calls) {
      const next = history[at + 1];
      if (next?.role === 'tool' && next.tool_call_id === id) at++;
    }
  }
  return true;
}
