// Folds a turn's events into its answer, for the JSON reply and for storage with the run.
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import { type Json, type JsonObject, isJsonObject } from '#libs/schemas/json.js';
import type { ToolCall } from '#libs/schemas/message.js';
import type { CallerForm } from '#libs/schemas/tool-definition.js';
import type { ToolExecution, TurnEvent } from '#libs/schemas/turn-event.js';
import { noUsage, type Usage } from '#libs/schemas/usage.js';
import type { Warning } from '#libs/schemas/warning.js';
import { mergeMembers } from '../models/conversation/merge-members.js';

export interface AnswerChoice {
  text: string;
  reasoning: string;
  finishReason: FinishReason;
  /** Unknown members of the choice and of its message. */
  choiceExtras: JsonObject;
  messageExtras: JsonObject;
}

export interface TurnAnswer {
  model: string;
  runId: string;
  sessionId?: string;
  choices: AnswerChoice[];
  /** Calls for the caller. */
  toolCalls: (ToolCall & { form?: CallerForm })[];
  usage: Usage;
  toolExecution?: ToolExecution;
  warnings?: Warning[];
  /** Unknown members beside `choices`. */
  extras: JsonObject;
}

export class TurnFold {
  readonly answer: TurnAnswer = {
    model: '',
    runId: '',
    choices: [newChoice()],
    toolCalls: [],
    usage: noUsage,
    extras: {},
  };
  ended = false;

  add(event: TurnEvent): void {
    const { answer } = this;
    switch (event.type) {
      case 'start':
        answer.model = event.model;
        answer.runId = event.runId;
        if (event.sessionId !== undefined) answer.sessionId = event.sessionId;
        break;
      case 'content': {
        const choice = this.choice(event.choice);
        choice.text += event.text;
        this.addExtras(choice, event.extras);
        break;
      }
      case 'reasoning':
        this.choice(event.choice).reasoning += event.text;
        break;
      case 'tool_call':
        this.addCall(event);
        break;
      case 'done':
        this.ended = true;
        answer.usage = event.usage;
        (event.finishReasons ?? [event.finishReason]).forEach((reason, index) => {
          this.choice(index).finishReason = reason;
        });
        if (event.finishReasons === undefined) answer.choices[0]!.finishReason = event.finishReason;
        if (event.toolExecution !== undefined) answer.toolExecution = event.toolExecution;
        if (event.warnings !== undefined) answer.warnings = event.warnings;
        this.addExtras(answer.choices[0]!, event.extras);
        // Calls of a message that was cut do not count.
        if (event.finishReason !== 'tool_calls') answer.toolCalls = [];
        break;
      case 'tool_progress':
      case 'tool_result':
      case 'approval_required':
      case 'sign_in_required':
      case 'error':
      case 'rewind':
        break;
    }
  }

  private choice(index = 0): AnswerChoice {
    const { choices } = this.answer;
    while (choices.length <= index) choices.push(newChoice());
    return choices[index]!;
  }

  private addCall(event: Extract<TurnEvent, { type: 'tool_call' }>): void {
    if (event.clientIndex === null) return;
    const { toolCalls } = this.answer;
    if (event.id !== undefined) {
      toolCalls[event.clientIndex] = {
        id: event.id,
        type: 'function',
        function: { name: event.name ?? '', arguments: '' },
        ...(event.form === undefined ? {} : { form: event.form }),
      };
    }
    const call = toolCalls[event.clientIndex];
    if (call === undefined) return;
    call.function.arguments += event.arguments;
    if (event.extras !== undefined) mergeMembers(call as unknown as JsonObject, event.extras);
  }

  private addExtras(choice: AnswerChoice, extras: AnswerExtras | undefined): void {
    if (extras === undefined) return;
    merge(this.answer.extras, extras.chunk);
    merge(choice.choiceExtras, extras.choice);
    merge(choice.messageExtras, extras.delta);
  }
}

function newChoice(): AnswerChoice {
  return { text: '', reasoning: '', finishReason: 'stop', choiceExtras: {}, messageExtras: {} };
}

/** Merges like a reader of the stream: strings and lists grow, objects merge, anything else is replaced. */
function merge(target: JsonObject, more: JsonObject | undefined): void {
  for (const [key, value] of Object.entries(more ?? {})) target[key] = merged(target[key], value);
}

function merged(before: Json | undefined, value: Json): Json {
  if (value === null) return before ?? null;
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  if (isJsonObject(before) && isJsonObject(value)) {
    const both = { ...before };
    merge(both, value);
    return both;
  }
  return value;
}
