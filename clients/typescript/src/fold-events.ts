// The whole answer of a turn from its events.
import type { ChatCompletion, FinishReason, GatewayEvent, ToolCall, ToolCallDelta } from './chat-types.js';

interface Gathered {
  content: string;
  reasoning: string;
  calls: ToolCall[];
  finishReason: FinishReason;
}

/** @throws Error if the first or the last event is missing */
export function foldEvents(events: readonly GatewayEvent[]): ChatCompletion {
  const [first, last] = [events[0], events.at(-1)];
  if (first?.type !== 'start' || last?.type !== 'done') throw new Error('These are not all events of a turn');
  const choices = new Map<number, Gathered>();
  for (const event of events) {
    for (const { index, delta, finish_reason: reason } of event.choices) {
      const choice = choices.get(index) ?? { content: '', reasoning: '', calls: [], finishReason: last.finish_reason };
      choices.set(index, choice);
      choice.content += delta.content ?? '';
      choice.reasoning += delta.reasoning_content ?? '';
      for (const piece of delta.tool_calls ?? []) addPiece(choice.calls, piece);
      if (reason !== null) choice.finishReason = reason;
    }
  }
  return {
    id: first.id,
    object: 'chat.completion',
    created: first.created,
    model: first.model,
    choices: [...choices.entries()].sort(([a], [b]) => a - b).map(([index, choice]) => toChoice(index, choice)),
    usage: last.usage,
    ...(last.tool_execution === undefined ? {} : { tool_execution: last.tool_execution }),
    ...(last.warnings === undefined ? {} : { warnings: last.warnings }),
  };
}

function addPiece(calls: ToolCall[], { index, id, function: piece }: ToolCallDelta): void {
  const call = (calls[index] ??= { id: id ?? '', type: 'function', function: { name: '', arguments: '' } });
  call.function.name += piece.name ?? '';
  call.function.arguments += piece.arguments;
}

function toChoice(index: number, { content, reasoning, calls, finishReason }: Gathered) {
  return {
    index,
    message: {
      role: 'assistant' as const,
      content: content === '' && calls.length > 0 ? null : content,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    finish_reason: finishReason,
  };
}
