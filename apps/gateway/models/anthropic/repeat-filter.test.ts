import { expect } from 'vitest';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import { ends, input, message, start, stop, text, tool } from '../../../../test/fixtures/anthropic-quirks.js';
import { readStream } from '../../../../test/fixtures/read-family.js';
import { verifies } from '../../../../test/verifies.js';

const other = { ...message(), message: { ...message().message, id: 'msg_2' } };
const textBlock = start(0, { type: 'text', text: '' });
const called = [start(1, tool('t1', 'f')), input(1, '{"x":'), input(1, '1}'), stop(1)];
const whole = [textBlock, text(0, 'Hel'), text(0, 'lo'), stop(0), ...called, ...ends('tool_use')];
const expected = { text: 'Hello', calls: [{ name: 'f', arguments: '{"x":1}' }], finish: 'tool_calls' };

const broken: [string, object[]][] = [
  ['before anything', []],
  ['in its text', [textBlock, text(0, 'He')]],
  ['after its text', [textBlock, text(0, 'Hello'), stop(0)]],
  ['inside a call', [textBlock, text(0, 'Hello'), stop(0), ...called.slice(0, 2)]],
  ['after a call', [textBlock, text(0, 'Hello'), stop(0), ...called]],
];

for (const [where, before] of broken) {
  verifies('models.families.restart', `${where}: what was emitted is not emitted twice`, async () => {
    for (const again of [message(), other]) {
      const events = await readStream('anthropic', [message(), ...before, again, ...whole]);
      const reported = events.filter(({ type }, at) => type !== 'message_start' || at === 0);
      expect(foldEvents(reported)).toMatchObject(expected);
    }
  });
}

verifies('models.families.restart', 'the first event alone, sent again, begins nothing', async () => {
  const events = await readStream('anthropic', [
    message(),
    ...whole.slice(0, 2),
    message(),
    ...whole.slice(2, 5),
    message(),
    ...whole.slice(5),
  ]);
  expect(foldEvents(events)).toMatchObject(expected);
});

verifies(
  'models.families.restart',
  'a message that says something else is emitted anew, and its calls only',
  async () => {
    for (const words of ['Bye', 'He']) {
      const second = [start(0, { type: 'text', text: words }), stop(0), ...ends('end_turn')];
      const events = await readStream('anthropic', [message(), ...whole.slice(0, -2), other, ...second]);
      const again = events.findLastIndex(({ type }) => type === 'message_start');
      expect(again).toBeGreaterThan(0);
      expect(foldEvents(events.slice(again))).toMatchObject({ text: words, calls: [], finish: 'stop' });
    }
  },
);

verifies('models.families.restart', 'the same call by another thought is one call', async () => {
  const thought = (words: string, signature: string) => [
    start(0, { type: 'thinking', thinking: '' }),
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: words } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } },
    stop(0),
  ];
  const calling = (...pieces: string[]) => [start(1, tool('t', 'f')), ...pieces.map((piece) => input(1, piece))];
  const events = await readStream('anthropic', [
    message(),
    ...thought('I will.', 'one'),
    ...calling('{"x":"ab'),
    other,
    ...thought('Let me.', 'two'),
    ...calling('{"x":"a', 'bc"}'),
    stop(1),
    ...ends('tool_use'),
  ]);
  expect(foldEvents(events)).toMatchObject({
    // Thinking cannot be sent inside a call: clients would take the call for complete.
    reasoning: 'I will.',
    calls: [{ name: 'f', arguments: '{"x":"abc"}' }],
    finish: 'tool_calls',
  });
  // The stored state is the last thinking with its own signature.
  expect(events.at(-1)).toMatchObject({
    providerState: {
      state: {
        content: [
          { thinking: 'Let me.', signature: 'two' },
          { type: 'tool_use', call: 0 },
        ],
      },
    },
  });
});

verifies('models.families.restart', 'more text before a call that was begun is emitted anew', async () => {
  const events = await readStream('anthropic', [
    message(),
    textBlock,
    text(0, 'Hel'),
    ...called.slice(0, 2),
    other,
    ...whole,
  ]);
  const again = events.findLastIndex(({ type }) => type === 'message_start');
  expect(again).toBeGreaterThan(0);
  expect(foldEvents(events.slice(again))).toMatchObject(expected);
});

verifies('models.families.restart', 'an error and a cut while it is sent again', async () => {
  const begun = [message(), textBlock, text(0, 'Hello'), other, textBlock, text(0, 'H')];
  const error = { type: 'error', error: { type: 'api_error', message: 'no' } };
  expect(foldEvents(await readStream('anthropic', [...begun, error]))).toMatchObject({
    text: 'Hello',
    error: 'model_error',
  });
  expect(foldEvents(await readStream('anthropic', begun))).toMatchObject({ text: 'Hello', error: 'model_stream_cut' });
});
