// Reads text, reasoning, usage and unknown members of OpenAI-compatible chunks and messages, in all known variants. Pure.
// A member of an unexpected type counts as absent.
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { AnswerExtras } from '#libs/schemas/model-event.js';
import type { Usage } from '#libs/schemas/usage.js';

/** A text, or a list of parts (Mistral). */
export function readContentText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isJsonObject(part) && part['type'] === 'thinking' ? '' : partText(part))).join('');
}

function partText(part: Json | undefined): string {
  if (typeof part === 'string') return part;
  return isJsonObject(part) ? textOrEmpty(part['text']) : '';
}

/**
 * `reasoning_content` (DeepSeek, Moonshot, Qwen, xAI), `reasoning` (Groq, OpenRouter), or parts of the content (Mistral).
 * Some send both members, with equal text.
 */
export function readReasoning(delta: JsonObject): string {
  const { content } = delta;
  const named = textOrEmpty(delta['reasoning_content']) || textOrEmpty(delta['reasoning']);
  return Array.isArray(content) ? named + content.map(thinkingIn).join('') : named;
}

function thinkingIn(part: Json): string {
  if (!isJsonObject(part) || part['type'] !== 'thinking') return '';
  const { thinking } = part;
  return Array.isArray(thinking) ? thinking.map(partText).join('') : textOrEmpty(thinking);
}

/** `usage` is beside `choices`, in `x_groq`, or in the choice (Moonshot). */
export function readOpenAiUsage(chunk: JsonObject, choice: JsonObject | undefined): Usage | undefined {
  const groq = chunk['x_groq'];
  const inGroq = isJsonObject(groq) ? groq['usage'] : undefined;
  const usage = isJsonObject(chunk['usage']) ? chunk['usage'] : isJsonObject(inGroq) ? inGroq : choice?.['usage'];
  return isJsonObject(usage) ? completeUsage(usage) : undefined;
}

function completeUsage(usage: JsonObject): Usage {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const prompt_tokens = count('prompt_tokens');
  const completion_tokens = count('completion_tokens');
  const total_tokens = count('total_tokens') || prompt_tokens + completion_tokens;
  return { ...usage, prompt_tokens, completion_tokens, total_tokens };
}

const known = {
  chunk: new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'error']),
  choice: new Set(['index', 'delta', 'message', 'finish_reason', 'usage']),
  delta: new Set(['role', 'content', 'tool_calls', 'reasoning_content', 'reasoning', 'function_call']),
  call: new Set(['index', 'id', 'type', 'function', 'name', 'arguments']),
};

/** Members of a message that only inform: no provider wants them back, and some refuse them. */
const informing = new Set(
  'refusal annotations audio images citations search_results context channel executed_tools logprobs token_ids'.split(
    ' ',
  ),
);

/** The unknown members that a provider may want back: signatures, `reasoning_details`, `extra_content`, … */
export function keptMembers(unknown: JsonObject | undefined): JsonObject | undefined {
  let kept: JsonObject | undefined;
  for (const key in unknown) {
    const value = unknown[key]!;
    if (!informing.has(key) && saysSomething(value)) (kept ??= {})[key] = value;
  }
  return kept;
}

function saysSomething(value: Json): boolean {
  if (typeof value === 'string') return value !== '';
  return typeof value === 'object' && value !== null && Object.values(value).some((member) => member !== null);
}

/** `keepNull` is for whole messages, where OpenAI's types require some members to be `null`. */
export function unknownMembers(
  kind: keyof typeof known,
  object: JsonObject,
  keepNull: boolean,
): JsonObject | undefined {
  let found: JsonObject | undefined;
  for (const key in object) {
    const value = object[key];
    if (value === undefined || (value === null && !keepNull) || known[kind].has(key)) continue;
    // Setting `__proto__` would change the prototype.
    if (key === '__proto__') continue;
    (found ??= {})[key] = value;
  }
  return found;
}

export function extrasOf(
  chunk: JsonObject | undefined,
  choice: JsonObject | undefined,
  delta: JsonObject | undefined,
): AnswerExtras | undefined {
  return chunk === undefined && choice === undefined && delta === undefined ? undefined : { chunk, choice, delta };
}
