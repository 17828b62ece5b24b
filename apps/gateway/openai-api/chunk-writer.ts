// Writes `chat.completion.chunk` objects as text. Members that do not change are serialised once for each stream.
import type { JsonObject } from '#libs/schemas/json.js';
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { type Rendering, shownReason } from './render-json.js';

export interface ChunkParts {
  choice?: number | undefined;
  finishReason?: FinishReason | undefined;
  /** One for each choice, if several end in one chunk. */
  finishReasons?: FinishReason[] | undefined;
  extras?: AnswerExtras | undefined;
  /** Members before the chunk's own. */
  first?: JsonObject | undefined;
  /** Members after the chunk's own. */
  members?: object | undefined;
}

export class ChunkWriter {
  private head = '';
  /** The start of a text chunk of the first choice, up to its delta. */
  private textHead = '';

  constructor(private readonly rendering: Rendering) {
    this.model = rendering.model ?? '';
  }

  /** The model is known with the first event. */
  set model(model: string) {
    const { id, created } = this.rendering;
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.head = `${head.slice(1, -1)},`;
    this.textHead = `{${this.head}"choices":[{"index":0,"delta":`;
  }

  chunk(delta: JsonObject, parts: ChunkParts = {}): string {
    const { extras } = parts;
    const first = parts.first === undefined ? '{' : `${JSON.stringify(parts.first).slice(0, -1)},`;
    const choices = (parts.finishReasons ?? [parts.finishReason ?? null]).map((finishReason, index) =>
      JSON.stringify({
        ...extras?.choice,
        index: parts.finishReasons === undefined ? (parts.choice ?? 0) : index,
        delta: extras?.delta === undefined ? delta : { ...extras.delta, ...delta },
        finish_reason: finishReason && shownReason(finishReason, this.rendering.legacyFunctions),
      }),
    );
    return `${first}${this.head}"choices":[${choices.join(',')}]${tail(besides(extras?.chunk, parts.members))}}`;
  }

  /** A fast path for text of the first choice, the most frequent chunk. Writes the same as `chunk`. */
  text(text: string, isTyped = false): string {
    const delta = `{"content":${JSON.stringify(text)}}`;
    const chunk = `${this.textHead}${delta},"finish_reason":null}]}`;
    return isTyped ? `{"type":"content","delta":${delta},${chunk.slice(1)}` : chunk;
  }

  /** A chunk with an empty list of choices: OpenAI's usage chunk. */
  withoutChoices(members: JsonObject): string {
    return `{${this.head}"choices":[]${tail(members)}}`;
  }
}

/** Our members and the upstream's; a member of both, as from another gateway upstream, is written once. */
const besides = (theirs: object | undefined, ours: object | undefined): object | undefined =>
  theirs === undefined || ours === undefined ? (theirs ?? ours) : { ...theirs, ...ours };

function tail(members: object | undefined): string {
  if (members === undefined) return '';
  const text = JSON.stringify(members).slice(1, -1);
  return text === '' ? '' : `,${text}`;
}

type CallEvent = Extract<TurnEvent, { type: 'tool_call' }>;

/** The delta of a call for the caller. */
export function callDelta(event: CallEvent, { legacyFunctions = false }: Rendering): JsonObject {
  if (!legacyFunctions) return deltaOf(event);
  // A message in the older form has one call. The model makes the other calls again when it has the result.
  if (event.clientIndex !== 0) return {};
  const { id, name = '', arguments: text } = event;
  return { function_call: id === undefined ? { arguments: text } : { name, arguments: text } };
}

/** The delta of an event. */
export function deltaOf(event: Extract<TurnEvent, { type: 'content' | 'reasoning' }> | CallEvent): JsonObject {
  switch (event.type) {
    case 'content':
      return { content: event.text };
    case 'reasoning':
      return { reasoning_content: event.text };
    case 'tool_call': {
      const index = event.clientIndex ?? event.index;
      const { id, name = '', arguments: text, extras, form } = event;
      if (form?.custom === true) {
        const first: JsonObject = id === undefined ? {} : { id, type: 'custom' };
        const custom = { ...(id !== undefined && { name }), input: text };
        return { tool_calls: [{ ...extras, index, ...first, custom }] };
      }
      if (id === undefined) return { tool_calls: [{ ...extras, index, function: { arguments: text } }] };
      return { tool_calls: [{ ...extras, index, id, type: 'function', function: { name, arguments: text } }] };
    }
  }
}
