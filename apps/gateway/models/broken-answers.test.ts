// For every family: an answer that is cut, stops sending or cannot be read is an error, never a short answer. Each family
// is a row with its configuration and the frames of one good answer.
import { expect } from 'vitest';
import { providerSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { oneByOne } from '../../../test/support/one-by-one.js';
import { type CollectedAnswer, foldEvents } from '../../../test/support/collect-model-events.js';
import { type ScriptedAnswer, startScriptedUpstream } from '../../../test/support/scripted-upstream.js';
import { ends, message, start, text } from '../../../test/fixtures/anthropic-quirks.js';
import { chunk, finish } from '../../../test/fixtures/gemini-chunks.js';
import { asking, calling } from '../../../test/fixtures/model-request.js';
import { created, ended, text as said } from '../../../test/fixtures/responses-quirks.js';
import { verifies } from '../../../test/verifies.js';
import { createProvider } from './routing/create-provider.js';
import { OfflineProvider } from './offline/offline-provider.js';

interface Family {
  name: string;
  config: object;
  frames: string[];
  /** The first frame after which the message is complete; later frames only add counts. */
  completeAt: number;
  /** The good answer, read. */
  expected: Partial<CollectedAnswer>;
}

const framed = (chunks: object[]) => chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`);
const openAiFrames = (...texts: string[]) =>
  framed([
    ...texts.map((content) => ({ choices: [{ delta: { content } }] })),
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
  ]);
const written = ['Wait', '. <function_call>{"name":', '"f"}', '</function_call>'];

const families: Family[] = [
  {
    name: 'openai',
    config: { kind: 'openai' },
    frames: [...openAiFrames('Hel', 'lo'), 'data: [DONE]\n\n'],
    completeAt: 2,
    expected: { text: 'Hello', finish: 'stop' },
  },
  {
    name: 'openai, prompted',
    config: { kind: 'openai', tools: 'prompted' },
    frames: [...openAiFrames(...written), 'data: [DONE]\n\n'],
    completeAt: 4,
    expected: { text: 'Wait.', finish: 'tool_calls' },
  },
  {
    name: 'openai, responses',
    config: { kind: 'openai', wire: 'responses' },
    frames: framed([created, said(0, 'Hel'), said(0, 'lo'), ended()]),
    completeAt: 3,
    expected: { text: 'Hello', finish: 'stop' },
  },
  {
    name: 'anthropic',
    config: { kind: 'anthropic' },
    frames: framed([
      message(),
      start(0, { type: 'text', text: '' }),
      text(0, 'Hel'),
      text(0, 'lo'),
      ...ends('end_turn'),
    ]),
    completeAt: 5,
    expected: { text: 'Hello', finish: 'stop' },
  },
  {
    name: 'gemini',
    config: { kind: 'gemini' },
    frames: framed([
      chunk([{ text: 'Hel' }]),
      finish('STOP', [{ text: 'lo' }]),
      { usageMetadata: { promptTokenCount: 1 } },
    ]),
    completeAt: 1,
    expected: { text: 'Hello', finish: 'stop' },
  },
];

for (const { name, config, frames, completeAt, expected } of families) {
  const hear = async (answers: ScriptedAnswer[]): Promise<CollectedAnswer[]> => {
    const upstream = await startScriptedUpstream(answers);
    const timeouts = { max_retries: 0, timeout_ms: { idle: 200 }, circuit: { failures: 1_000 } };
    const parsed = providerSchema.parse({ ...config, ...timeouts, base_url: upstream.baseUrl });
    const provider = createProvider('up', parsed, { logger: silentLogger, offline: new OfflineProvider() });
    const heard: CollectedAnswer[] = [];
    try {
      for (let each = 0; each < answers.length; each += 1) {
        const events = [];
        for await (const event of oneByOne((take) =>
          provider.call(asking({ tools: [{ name: 'f' }] }), calling(), take),
        ))
          events.push(event);
        heard.push(foldEvents(events));
      }
      return heard;
    } finally {
      await provider.close();
      await upstream.close();
    }
  };
  const expectErrors = async (answers: ScriptedAnswer[], codes: RegExp) => {
    for (const answer of await hear(answers)) {
      expect(answer.error).toMatch(codes);
      expect(answer.finish).toBeUndefined();
    }
  };
  /** The frames before the n-th that completes the message, and half of that frame. */
  const beginnings = frames.slice(0, completeAt + 1).flatMap((frame, at) => {
    const whole = frames.slice(0, at);
    return at === 0 ? [[frame.slice(0, 20)]] : [whole, [...whole, frame.slice(0, 20)]];
  });

  verifies('models.upstream-cut', `${name}: whole, it is read`, async () => {
    const [answer] = await hear([{ chunks: frames }]);
    expect(answer).toMatchObject(expected);
  });

  verifies('models.upstream-cut', `${name}: between any two frames, and within each`, async () => {
    const ends = ['fin', 'rst'] as const;
    const answers = ends.flatMap((end) => beginnings.map((chunks) => ({ chunks, end })));
    await expectErrors(answers, /^(?:model_stream_cut|model_error)$/);
  });

  verifies('models.timeouts', `${name}: silence before it is complete`, async () => {
    const answers = beginnings.slice(-2).map((chunks) => ({ chunks, end: 'stall' as const }));
    await expectErrors(answers, /^model_timeout$/);
  });

  verifies('models.errors', `${name}: a frame that cannot be read`, async () => {
    const answers = frames.slice(0, completeAt).map((_, at) => ({
      chunks: [...frames.slice(0, at), 'data: {"broken\n\n', ...frames.slice(at)],
    }));
    await expectErrors(answers, /^model_bad_response$/);
  });
}
