import { expect, test } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { MessageAssembler } from './assemble-message.js';

const emitted: TurnEvent[] = [];
const assembler = () =>
  new MessageAssembler({
    emit: (events) => void emitted.push(...events),
    isClientCall: () => true,
    serverOf: () => undefined,
    idsAreStored: false,
    onStart: () => undefined,
    separator: '',
    numbering: { calls: 0, clientCalls: 0 },
  });
const start = { type: 'message_start', model: 'm', responseId: '' } as const;
const text = { type: 'text_delta', text: 'said' } as const;

test('what came before a failure in the same batch is emitted, what follows is not', () => {
  const answer = assembler();
  const error = new AppError('model_error', 'no');
  expect(answer.take([start, text, { type: 'error', error }, text])).toBe('enough');
  expect(emitted).toEqual([{ type: 'content', text: 'said' }]);
  expect(() => answer.throwIfFailed()).toThrow(error);
});

test('a message that begins again is read anew, but not after it called a tool of the caller', () => {
  const answer = assembler();
  void answer.take([start, text, start, text, { type: 'message_end', finishReason: 'stop' }]);
  answer.throwIfFailed();
  expect(answer.message().text).toBe('said');
  const called = assembler();
  void called.take([start, { type: 'tool_call_start', index: 0, id: 'x', name: 'f' }, start]);
  expect(() => called.throwIfFailed()).toThrow(expect.objectContaining({ code: 'model_bad_response' }));
});

test('an answer without its last event is no message', () => {
  const answer = assembler();
  void answer.take([start, text]);
  expect(() => answer.message()).toThrow(expect.objectContaining({ code: 'model_stream_cut' }));
});
