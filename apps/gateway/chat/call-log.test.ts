import { expect } from 'vitest';
import { type LogFields, type Logger, silentLogger } from '#libs/logging/logger.js';
import { verifies } from '../../../test/verifies.js';
import { CallLog } from './call-log.js';

verifies('operations.call-lines', 'two calls of a round, then an answer', () => {
  const lines: [message: string, tool: string | undefined, metadata: unknown][] = [];
  const logger: Logger = {
    ...silentLogger,
    debug: (fields: LogFields, message: string) => void lines.push([message, fields.tool, fields.metadata]),
  };
  const log = new CallLog(logger, { requestId: 'r' });
  const call = (index: number, id: string, name: string) => {
    log.note({ type: 'tool_call', index, clientIndex: null, id, name, arguments: '' });
    log.note({ type: 'tool_call', index, clientIndex: null, arguments: '{"secret":1}' });
  };
  call(0, 'a', 'one');
  call(1, 'b', 'two');
  for (const callId of ['a', 'b']) log.note({ type: 'tool_progress', callId, status: 'queued' });
  for (const callId of ['a', 'b']) {
    log.note({ type: 'tool_result', callId, result: { success: true, content: 'secret', duration_ms: 1 } });
  }
  log.note({ type: 'content', text: 'answer' });
  expect(lines).toEqual([
    ['arguments streaming', 'one', { callId: 'a' }],
    ['arguments streaming', 'two', { callId: 'b' }],
    ['call complete', 'one', { callId: 'a' }],
    ['call complete', 'two', { callId: 'b' }],
    ['round complete', undefined, { calls: 2 }],
  ]);
});
