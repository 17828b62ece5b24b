// Renders a turn's answer as OpenAI's `chat.completion` object.
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { DoneEvent } from '../chat/chat-turn.js';
import { type AnswerChoice, type TurnAnswer, TurnFold } from '../chat/fold-turn.js';

export interface Rendering {
  /** `chatcmpl-…`, the same in every chunk. */
  id: string;
  /** Epoch seconds. */
  created: number;
  /** Set if it is known before the first event. */
  model?: string;
}

export class CompletionFold {
  private readonly turn = new TurnFold();

  constructor(private readonly rendering: Rendering) {}

  add(event: TurnEvent): void {
    this.turn.add(event);
  }

  get answer(): JsonObject {
    return renderJson(this.turn.answer, this.rendering);
  }
}

export function renderJson(answer: TurnAnswer, { id, created }: Rendering): JsonObject {
  return {
    ...answer.extras,
    id,
    object: 'chat.completion',
    created,
    model: answer.model,
    choices: answer.choices.map((choice, index) => renderChoice(choice, index, answer)),
    usage: answer.usage,
    ...besideChoices(answer),
  };
}

/** Our members of an answer: what ran here, and what was not served as it was asked. */
export function besideChoices({ toolExecution, warnings }: Pick<DoneEvent, 'toolExecution' | 'warnings'>): JsonObject {
  return {
    ...(toolExecution === undefined ? {} : { tool_execution: toolExecution as unknown as JsonObject }),
    ...(warnings === undefined ? {} : { warnings: warnings as unknown as JsonObject[] }),
  };
}

function renderChoice(choice: AnswerChoice, index: number, answer: TurnAnswer): JsonObject {
  const calls = index === 0 ? answer.toolCalls : [];
  return {
    ...choice.choiceExtras,
    index,
    message: {
      ...choice.messageExtras,
      role: 'assistant',
      content: choice.text === '' && calls.length > 0 ? null : choice.text,
      ...(choice.reasoning === '' ? {} : { reasoning_content: choice.reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls as unknown as JsonObject[] }),
    },
    finish_reason: choice.finishReason,
  };
}
