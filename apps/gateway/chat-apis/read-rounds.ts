// Splits the content of an assistant message into the rounds of the model. A message that ends with stored calls of the caller
// stays whole: `turn/runs/restore-history.ts` replaces that message with the stored rounds.
import { isStoredCallId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import {
  type AssistantMessage,
  type ChatMessage,
  type ToolCall,
  type ToolMessage,
  withOriginal,
} from '#libs/schemas/message.js';
import { roundSeparator } from '../turn/turn-state.js';

/** A part of an assistant message. `block`: the part as the caller's API wrote it. */
export type TurnPiece = (
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** `here`: a server call, whose result is another piece. */
  | { type: 'call'; call: ToolCall; here: boolean }
  | { type: 'result'; result: ToolMessage }
  /** The text for content that only the caller's API knows. */
  | { type: 'described'; text: string }
) & { block?: JsonObject };

interface Round {
  texts: string[];
  reasoning: string;
  calls: ToolCall[];
  results: ToolMessage[];
  /** The content as the caller's API wrote it, with calls as positions in `calls`. */
  blocks: JsonObject[];
  /** Some blocks are known only to the caller's API. */
  isOriginal: boolean;
}

const newRound = (): Round => ({
  texts: [],
  reasoning: '',
  calls: [],
  results: [],
  blocks: [],
  isOriginal: false,
});

export function readRounds(pieces: readonly TurnPiece[]): ChatMessage[] {
  const isStored = pieces.some((piece) => piece.type === 'call' && !piece.here && isStoredCallId(piece.call.id));
  const rounds = [newRound()];
  for (const piece of pieces) {
    let round = rounds.at(-1)!;
    if (piece.type === 'result') {
      if (!isStored) round.results.push(piece.result);
      continue;
    }
    if (round.results.length > 0) rounds.push((round = newRound()));
    if (piece.block !== undefined) round.blocks.push(piece.block);
    if (piece.type === 'described') {
      round.isOriginal = true;
      round.texts.push(`${piece.text}\n`);
    } else if (piece.type === 'text') round.texts.push(piece.text);
    else if (piece.type === 'reasoning') round.reasoning += piece.text;
    else if (!piece.here || !isStored) {
      round.blocks.push({ type: 'tool_use', call: round.calls.length });
      round.calls.push(piece.call);
    }
  }
  return rounds.flatMap((round) => [toAssistant(round, isStored), ...round.results]);
}

export const toCall = (id: string, name: string, args: string): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

function toAssistant({ texts, reasoning, calls, blocks, isOriginal }: Round, manyRounds: boolean): AssistantMessage {
  const text = texts.join(manyRounds ? roundSeparator : '');
  const message: AssistantMessage = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
  };
  return isOriginal ? withOriginal(message, blocks) : message;
}
