// One `chat.completion.chunk`, written as text: the members that never change are serialised once a stream.
import type { JsonObject } from '#libs/schemas/json.js';
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { Rendering } from './render-json.js';

export interface ChunkParts {
  choice?: number | undefined;
  finishReason?: FinishReason | undefined;
  /** Of several choices that end in one chunk. */
  finishReasons?: FinishReason[] | undefined;
  extras?: AnswerExtras | undefined;
  /** Members that stand before the chunk's own. */
  first?: JsonObject | undefined;
  /** Members that stand after. */
  members?: JsonObject | undefined;
}

export class ChunkWriter {
  private head: string;

  constructor(private readonly rendering: Rendering) {
    this.head = this.headFor(rendering.model ?? '');
  }

  /** The model that answers, known with the first event. */
  set model(model: string) {
    this.head = this.headFor(model);
  }

  chunk(delta: JsonObject, parts: ChunkParts = {}): string {
    const { extras } = parts;
    const first = parts.first === undefined ? '{' : `${JSON.stringify(parts.first).slice(0, -1)},`;
    const choices = (parts.finishReasons ?? [parts.finishReason ?? null]).map((finishReason, index) =>
      JSON.stringify({
        ...extras?.choice,
        index: parts.finishReasons === undefined ? (parts.choice ?? 0) : index,
        delta: extras?.delta === undefined ? delta : { ...extras.delta, ...delta },
        finish_reason: finishReason,
      }),
    );
    return `${first}${this.head}"choices":[${choices.join(',')}]${tail(extras?.chunk)}${tail(parts.members)}}`;
  }

  /** Nearly every chunk of an answer: text of the first choice and nothing else. The same as `chunk` would write. */
  text(text: string): string {
    return `{${this.head}"choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}},"finish_reason":null}]}`;
  }

  /** OpenAI's usage chunk has no choice at all. */
  withoutChoices(members: JsonObject): string {
    return `{${this.head}"choices":[]${tail(members)}}`;
  }

  private headFor(model: string): string {
    const { id, created } = this.rendering;
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    return `${head.slice(1, -1)},`;
  }
}

function tail(members: JsonObject | undefined): string {
  if (members === undefined) return '';
  const text = JSON.stringify(members).slice(1, -1);
  return text === '' ? '' : `,${text}`;
}

/** What an event adds to the message. */
export function deltaOf(event: Extract<TurnEvent, { type: 'content' | 'reasoning' | 'tool_call' }>): JsonObject {
  switch (event.type) {
    case 'content':
      return { content: event.text };
    case 'reasoning':
      return { reasoning_content: event.text };
    case 'tool_call': {
      const index = event.clientIndex ?? event.index;
      const { id, name = '', arguments: text, extraContent } = event;
      if (id === undefined) return { tool_calls: [{ index, function: { arguments: text } }] };
      const extra: JsonObject = extraContent === undefined ? {} : { extra_content: extraContent };
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: text }, ...extra }] };
    }
  }
}
