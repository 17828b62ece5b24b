// Renders a turn's answer as OpenAI's `chat.completion` object.
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { mintCompletionId } from '#libs/schemas/identifiers.js';
import type { FinishReason } from '#libs/schemas/model-event.js';
import type { DoneEvent } from '../turn/turn.js';
import { type AnswerChoice, type TurnAnswer, TurnFold } from '../turn/fold-turn.js';
import type { TurnRequest } from '../turn/turn-request.js';
import { CallerEvents, callerForms, type CallerForms } from '../chat-apis/caller-events.js';

export interface Rendering {
  /** `chatcmpl-…`, the same in every chunk. */
  id: string;
  /** Epoch seconds. */
  created: number;
  /** Set if it is known before the first event. */
  model?: string | undefined;
  /** Set if the caller knows some tools in another form than the model. */
  forms?: CallerForms | undefined;
  /** Calls are `function_call`, of which a message has at most one. */
  legacyFunctions?: boolean | undefined;
}

export function renderingOf(
  { id, createdAt }: { id: string; createdAt: Date },
  { tools, legacyFunctions }: Pick<TurnRequest, 'tools' | 'legacyFunctions'>,
): Rendering {
  return {
    id: mintCompletionId(id),
    created: Math.floor(createdAt.getTime() / 1000),
    forms: callerForms(tools),
    legacyFunctions,
  };
}

export class CompletionFold {
  private readonly turn = new TurnFold();
  private readonly caller: CallerEvents | undefined;

  constructor(private readonly rendering: Rendering) {
    this.caller = rendering.forms && new CallerEvents(rendering.forms);
  }

  add(event: TurnEvent): void {
    if (this.caller === undefined) this.turn.add(event);
    else for (const each of this.caller.of(event)) this.turn.add(each);
  }

  get answer(): JsonObject {
    return renderJson(this.turn.answer, this.rendering);
  }
}

export function renderJson(answer: TurnAnswer, rendering: Rendering): JsonObject {
  const { id, created } = rendering;
  const { legacyFunctions = false } = rendering;
  return {
    ...answer.extras,
    id,
    object: 'chat.completion',
    created,
    model: answer.model,
    choices: answer.choices.map((choice, index) =>
      renderChoice(choice, index, index === 0 ? answer.toolCalls : [], legacyFunctions),
    ),
    usage: answer.usage,
    ...besideChoices(answer),
  };
}

/**
 * Our members of an answer: tool execution and warnings. Absent members are left out, because they would replace an upstream's.
 */
export function besideChoices({ toolExecution, warnings }: Pick<DoneEvent, 'toolExecution' | 'warnings'>) {
  if (toolExecution === undefined && warnings === undefined) return undefined;
  const members: JsonObject = {};
  if (toolExecution !== undefined) members['tool_execution'] = toolExecution as unknown as JsonObject;
  if (warnings !== undefined) members['warnings'] = warnings as unknown as JsonObject[];
  return members;
}

function renderChoice(
  choice: AnswerChoice,
  index: number,
  calls: TurnAnswer['toolCalls'],
  legacyFunctions: boolean,
): JsonObject {
  const message: JsonObject = {
    ...choice.messageExtras,
    role: 'assistant',
    content: choice.text === '' && calls.length > 0 ? null : choice.text,
  };
  if (choice.reasoning !== '') message['reasoning_content'] = choice.reasoning;
  if (calls.length > 0) Object.assign(message, shownCalls(calls, legacyFunctions));
  const finish_reason = shownReason(choice.finishReason, legacyFunctions);
  return { ...choice.choiceExtras, index, message, finish_reason };
}

function shownCalls(calls: TurnAnswer['toolCalls'], legacyFunctions: boolean): JsonObject {
  if (legacyFunctions) return { function_call: calls[0]!.function };
  return { tool_calls: calls.map(shownCall) };
}

function shownCall({ form, ...call }: TurnAnswer['toolCalls'][number]): JsonObject {
  if (form?.custom !== true) return call;
  return { id: call.id, type: 'custom', custom: { name: call.function.name, input: call.function.arguments } };
}

export const shownReason = (reason: FinishReason, legacyFunctions: boolean | undefined): string =>
  legacyFunctions === true && reason === 'tool_calls' ? 'function_call' : reason;
