import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { foldEvents } from '../../../test/support/collect-model-events.js';
import { anthropicQuirks } from '../../../test/fixtures/anthropic-quirks.js';
import { finish } from '../../../test/fixtures/gemini-chunks.js';
import { geminiQuirks } from '../../../test/fixtures/gemini-quirks.js';
import {
  readStream,
  readWhole,
  streamOf,
  writeRequest,
  type Kind,
  type Quirk,
} from '../../../test/fixtures/read-family.js';
import { chunk as openAiChunk } from '../../../test/fixtures/openai-chunks.js';
import { responsesQuirks } from '../../../test/fixtures/responses-quirks.js';
import { verifies } from '../../../test/verifies.js';
import { answering } from '../../../test/support/one-by-one.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { readAnswer } from './wire/read-answer.js';

const families: [Kind, Quirk[]][] = [
  ['anthropic', anthropicQuirks],
  ['gemini', geminiQuirks],
  ['responses', responsesQuirks],
];

for (const [kind, quirks] of families) {
  for (const { name, chunks, expected } of quirks) {
    verifies('models.families.answers', `${kind}: ${name}`, async () => {
      const events = await readStream(kind, chunks);
      expect(foldEvents(events)).toMatchObject(expected);
      for (const size of [1, 7]) expect(await readStream(kind, chunks, size)).toEqual(events);
    });
  }
}

/** Answers with a finish reason in every chunk, and the results when the connection breaks. */
const everyChunkAnEnd: [Kind, object[]][] = [
  ['openai', [openAiChunk({ content: 'a' }, 'stop'), openAiChunk({ content: 'b' }, 'stop')]],
  ['gemini', [finish('STOP', [{ text: 'a' }]), finish('STOP', [{ text: 'b' }])]],
];

for (const [kind, chunks] of everyChunkAnEnd) {
  verifies('models.upstream-cut', `${kind}: a finish reason with every chunk proves no end`, async () => {
    const hear = async (heard: object[], end: () => Promise<undefined>) => {
      const body = [streamOf(heard)];
      let hurried = false;
      const next = () => (body.length > 0 ? body.shift() : end());
      const events: ModelEvent[] = [];
      const answer = answering('text/event-stream', next, () => (hurried = true));
      const bounds = { provider: 'up', maxEventChars: 10_000 };
      await readAnswer(answer, writeRequest(kind).reader, bounds, (batch) => void events.push(...batch));
      return { ...foldEvents(events), hurried };
    };
    const cut = () => Promise.reject(new AppError('model_stream_cut', 'cut'));
    const over = () => Promise.resolve(undefined);
    // The provider's idle timeout applies.
    expect(await hear(chunks, cut)).toMatchObject({ error: 'model_stream_cut', hurried: false });
    expect(await hear(chunks, over)).toMatchObject({ text: 'ab', finish: 'stop' });
    const once = await hear(chunks.slice(0, 1), cut);
    expect(once).toMatchObject({ text: 'a', finish: 'stop' });
    expect(once.hurried).toBe(true);
  });
}

verifies('models.families.answers', 'Gemini as one list of chunks, whole and cut', async () => {
  const chunks = [finish('', [{ text: 'a' }]), finish('STOP', [{ text: 'b' }])];
  expect(foldEvents(await readWhole('gemini', chunks))).toMatchObject({ text: 'ab', finish: 'stop' });
  expect(foldEvents(await readWhole('gemini', chunks.slice(0, 1))).error).toBe('model_stream_cut');
});
