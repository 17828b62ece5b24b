import { expect } from 'vitest';
import { foldEvents } from '#libs/testing/collect-model-events.js';
import { anthropicQuirks } from '../../../test/fixtures/anthropic-quirks.js';
import { geminiQuirks } from '../../../test/fixtures/gemini-quirks.js';
import { readStream, type Kind, type Quirk } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';

const families: [Kind, Quirk[]][] = [
  ['anthropic', anthropicQuirks],
  ['gemini', geminiQuirks],
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
