// A model's events folded into what a caller ends up with, and a check that they come in a lawful order.
import { expect } from 'vitest';
import type { ErrorCode } from '../../libs/schemas/errors.js';
import type { ModelEvent } from '../../libs/schemas/model-event.js';
import type { Usage } from '../../libs/schemas/usage.js';

export interface CollectedCall {
  id: string;
  name: string;
  arguments: string;
  broken?: true;
}

export interface CollectedAnswer {
  model?: string;
  text: string;
  reasoning: string;
  /** Those that ended. */
  calls: CollectedCall[];
  finish?: string;
  usage?: Usage;
  error?: ErrorCode;
}

export function foldEvents(events: readonly (ModelEvent | { type: 'routed' })[]): CollectedAnswer {
  const answer: CollectedAnswer = { text: '', reasoning: '', calls: [] };
  const streamed: string[] = [];
  let over = false;
  for (const event of events) {
    if (event.type !== 'message_end') expect(over, 'nothing follows the end').toBe(false);
    switch (event.type) {
      case 'message_start':
        expect(answer.model, 'one message_start').toBeUndefined();
        answer.model = event.model;
        break;
      case 'text_delta':
        if (event.choice === undefined) answer.text += event.text;
        break;
      case 'reasoning_delta':
        answer.reasoning += event.text;
        break;
      case 'tool_call_start':
        expect(event.index, 'indexes count from 0').toBe(streamed.length);
        streamed.push('');
        break;
      case 'tool_call_delta':
        streamed[event.index] += event.arguments;
        break;
      case 'tool_call_end':
        expect(streamed[event.index], 'deltas make the arguments').toBe(event.arguments);
        answer.calls.push({
          id: event.id,
          name: event.name,
          arguments: event.arguments,
          ...(event.parseError !== undefined && { broken: true }),
        });
        break;
      case 'usage':
        expect(answer.usage, 'usage comes once').toBeUndefined();
        answer.usage = event.usage;
        break;
      case 'message_end':
        over = true;
        if (event.choice === undefined) answer.finish = event.finishReason;
        break;
      case 'error':
        over = true;
        answer.error = event.error.code;
        break;
      case 'routed':
        break;
    }
  }
  expect(over, 'the answer ends').toBe(true);
  return answer;
}
