import { expect } from 'vitest';
import { type LogFields, type Logger, silentLogger } from '#libs/logging/logger.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { verifies } from '../../../../test/verifies.js';
import { TurnMilestones } from './turn-milestones.js';

verifies('operations.milestones', 'two calls of a round, then an answer', () => {
  const lines: [message: string, tool: string | undefined, metadata: unknown][] = [];
  const logger: Logger = {
    ...silentLogger,
    debug: (fields: LogFields, message: string) => {
      expect(fields).toMatchObject({ requestId: 'r', runId: 'run', duration: expect.any(Number) as number });
      lines.push([message, fields.tool, fields.metadata]);
    },
  };
  const milestones = new TurnMilestones(logger, { requestId: 'r', runId: 'run' });
  const fragments = (index: number, id: string, name: string): TurnEvent[] => [
    { type: 'tool_call', index, clientIndex: null, id, name, arguments: '' },
    { type: 'tool_call', index, clientIndex: null, arguments: '{"secret":1}' },
  ];
  const events: TurnEvent[] = [
    { type: 'start', model: 'm', runId: 'run' },
    ...fragments(0, 'a', 'one'),
    ...fragments(1, 'b', 'two'),
    { type: 'tool_progress', callId: 'a', status: 'queued' },
    { type: 'tool_progress', callId: 'b', status: 'queued' },
    { type: 'tool_result', callId: 'b', result: { success: true, content: 'secret', duration_ms: 1 } },
    { type: 'tool_result', callId: 'a', result: { success: true, content: 'secret', duration_ms: 1 } },
    { type: 'content', text: 'secret' },
    { type: 'content', text: 'answer' },
    { type: 'done', finishReason: 'stop', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
  ];
  for (const event of events) milestones.note(event);
  expect(lines).toEqual([
    ['first token', undefined, { round: 1 }],
    ['arguments complete', 'one', { round: 1, callId: 'a' }],
    ['arguments complete', 'two', { round: 1, callId: 'b' }],
    ['round complete', undefined, { round: 1, calls: 2 }],
    ['round complete', undefined, { round: 2, calls: 0 }],
  ]);
  expect(JSON.stringify(lines)).not.toContain('secret');
});
