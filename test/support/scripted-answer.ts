// What a scripted upstream may be told to answer, and the pieces that makes on the wire.
import type { Json, JsonObject } from '../../libs/schemas/json.js';

export interface ScriptedToolCall {
  id?: string;
  name: string;
  /** An object is written as JSON; a string goes out as it is, broken or not. */
  arguments?: JsonObject | string;
}

/**
 * One answer. The first of `json`, `chunks` and the plain members (`text`, `reasoning`, `toolCalls`) that is there is
 * sent; plain members come streamed or whole, as the request asked.
 */
export interface ScriptedAnswer {
  /** Text; a list is one delta each. */
  text?: string | string[];
  reasoning?: string;
  toolCalls?: ScriptedToolCall[];
  /** Default: `tool_calls` with calls, else `stop`; null, or an `end`, leaves it out. */
  finishReason?: string | null;
  /** Default 10 + 5 tokens; null, or an `end`, leaves it out. */
  usage?: JsonObject | null;
  /** The model that the answer claims; default `scripted`. */
  model?: string;
  /** A whole body, as it is. */
  json?: Json;
  /**
   * A streamed body. An object is a `data:` frame, a string or Buffer goes out as it is, a promise (or a function that
   * makes one) is waited for. `[DONE]` is not added.
   */
  chunks?: ScriptedChunk[];
  status?: number;
  headers?: Record<string, string>;
  /** Waited for before the status line. */
  before?: Promise<unknown>;
  /** Takes the request and never answers. */
  never?: boolean;
  /** Closes the connection instead of answering. */
  refuse?: 'fin' | 'rst';
  /** After the pieces: `fin` and `rst` cut, `stall` goes silent until the client leaves. */
  end?: 'fin' | 'rst' | 'stall';
  /** Writes pieces of so many bytes. */
  splitBytes?: number;
  /** Overrides the form that the request asked for. */
  streamed?: boolean;
}

/** Bytes, a frame's JSON, a promise, or a function that makes one. */
export type ScriptedChunk = string | object;
type Piece = string | Buffer | Promise<unknown> | (() => Promise<unknown>);

export function answerPieces(answer: ScriptedAnswer, streamed: boolean): { streamed: boolean; list: Piece[] } {
  if (answer.json !== undefined) return { streamed: false, list: [JSON.stringify(answer.json)] };
  if (answer.chunks !== undefined) return { streamed: true, list: answer.chunks.map(toPiece) };
  if (!streamed) return { streamed, list: [JSON.stringify(wholeAnswer(answer))] };
  const frames: Piece[] = streamedAnswer(answer).map(frame);
  const cut = answer.end !== undefined;
  return { streamed, list: cut ? frames : [...frames, 'data: [DONE]\n\n'] };
}

function toPiece(chunk: ScriptedChunk): Piece {
  if (typeof chunk === 'string' || Buffer.isBuffer(chunk) || chunk instanceof Promise) return chunk;
  return typeof chunk === 'function' ? (chunk as () => Promise<unknown>) : frame(chunk);
}

const frame = (chunk: object) => `data: ${JSON.stringify(chunk)}\n\n`;

const defaultUsage: JsonObject = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function finishReasonOf(answer: ScriptedAnswer): string | null {
  if (answer.finishReason !== undefined) return answer.finishReason;
  if (answer.end !== undefined) return null;
  return answer.toolCalls === undefined ? 'stop' : 'tool_calls';
}

function usageOf(answer: ScriptedAnswer): JsonObject | undefined {
  const usage = answer.usage ?? (answer.usage === null || answer.end !== undefined ? undefined : defaultUsage);
  return usage && { usage };
}

function callsOf(
  answer: ScriptedAnswer,
): { id: string; type: string; function: { name: string; arguments: string } }[] {
  return (answer.toolCalls ?? []).map((call, position) => ({
    id: call.id ?? `call_${position}`,
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
    },
  }));
}

function wholeAnswer(answer: ScriptedAnswer): JsonObject {
  const text = Array.isArray(answer.text) ? answer.text.join('') : (answer.text ?? null);
  const message: JsonObject = { role: 'assistant', content: text };
  if (answer.reasoning !== undefined) message['reasoning_content'] = answer.reasoning;
  if (answer.toolCalls !== undefined) message['tool_calls'] = callsOf(answer);
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 1,
    model: answer.model ?? 'scripted',
    choices: [{ index: 0, message, finish_reason: finishReasonOf(answer) }],
    ...usageOf(answer),
  };
}

function streamedAnswer(answer: ScriptedAnswer): JsonObject[] {
  const head: JsonObject = {
    id: 'chatcmpl-scripted',
    object: 'chat.completion.chunk',
    created: 1,
    model: answer.model ?? 'scripted',
  };
  const chunks: JsonObject[] = [];
  const delta = (delta: JsonObject, finish_reason: string | null = null) =>
    chunks.push({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  delta({ role: 'assistant', content: '' });
  if (answer.reasoning !== undefined) delta({ reasoning_content: answer.reasoning });
  for (const text of [answer.text ?? []].flat()) delta({ content: text });
  callsOf(answer).forEach((call, index) => {
    delta({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] });
    // In two pieces, so that nobody gets by without merging.
    const { arguments: text } = call.function;
    const middle = Math.ceil(text.length / 2);
    for (const part of [text.slice(0, middle), text.slice(middle)]) {
      if (part !== '') delta({ tool_calls: [{ index, function: { arguments: part } }] });
    }
  });
  const finish = finishReasonOf(answer);
  if (finish !== null) delta({}, finish);
  const usage = usageOf(answer);
  if (usage !== undefined) chunks.push({ ...head, choices: [], ...usage });
  return chunks;
}
