import { afterEach, expect, test } from 'vitest';
import { openTestKnowledge, signal, type TestKnowledge } from '../../../test/support/knowledge.js';
import { verifies } from '../../../test/verifies.js';
import { bytesOf, cosine, type Embed, signsOf } from '#libs/embeddings/embedding.js';
import { fuse } from './ranked.js';

const subjects = [
  ['cat', 'kitten', 'feline', '猫'],
  ['car', 'automobile', 'vehicle', '汽车'],
  ['doctor', 'physician', 'medic', '医生'],
];

/** A model that knows which words mean the same, and nothing else. */
const embed: Embed = (texts) =>
  Promise.resolve(
    texts.map((text) =>
      subjects.flatMap((words) => {
        const about = words.some((word) => text.toLowerCase().includes(word)) ? 1 : -0.1;
        return [about, about / 2, about / 4, about / 8];
      }),
    ),
  );

let knowledge: TestKnowledge;
afterEach(() => knowledge?.close());

async function openWith(used: Embed): Promise<TestKnowledge> {
  knowledge = await openTestKnowledge({ model: 'synonyms', embed: used });
  knowledge.write('pets/kitten.md', '# Kitten\n\nA kitten sleeps a lot.');
  knowledge.write('roads/automobile.md', '# Automobile\n\nAn automobile needs fuel.');
  knowledge.write('people/physician.md', '# Physician\n\nA physician heals.');
  return knowledge;
}

verifies('knowledge.meaning', 'other words, words and meaning together, another language, filters', async () => {
  const { base, import: importAll } = await openWith(embed);
  expect(await importAll({ embeddings: { model: 'synonyms', embed } })).toMatchObject({ imported: 3, embedded: 3 });
  const search = async (query: string, filters = {}) => {
    const { mode, hits } = await base.search({ query, filters }, signal());
    return [mode, hits[0]?.id];
  };
  expect(await search('feline')).toEqual(['semantic', 'test/pets/kitten.md']);
  expect(await search('猫')).toEqual(['semantic', 'test/pets/kitten.md']);
  expect(await search('fuel for a vehicle')).toEqual(['hybrid', 'test/roads/automobile.md']);
  expect(await search('feline', { category: ['people'] })).toEqual(['semantic', 'test/people/physician.md']);
  expect(await search('"feline"')).toEqual(['exact', undefined]);
  // What is there stays, what is new follows.
  expect(await importAll({ embeddings: { model: 'synonyms', embed } })).toMatchObject({ unchanged: 3, embedded: 0 });
  expect(await importAll({ embeddings: { model: 'another', embed } })).toMatchObject({ unchanged: 3, embedded: 3 });
});

verifies('knowledge.meaning', 'the model fails, or gives something else', async () => {
  const vectors: (() => number[][])[] = [
    () => [[1, 2]],
    () => [],
    () => [[]],
    () => [[NaN, ...Array.from({ length: 11 }, () => 1)]],
    () => {
      throw new Error('away');
    },
  ];
  let next = 0;
  const { base, import: importAll } = await openWith(() => Promise.resolve().then(() => vectors[next++]!()));
  await importAll({ embeddings: { model: 'synonyms', embed } });
  while (next < vectors.length) {
    const { mode, total } = await base.search({ query: 'kitten' }, signal());
    expect([mode, total]).toEqual(['fulltext', 1]);
  }
});

test('the nearest of many are found as if all were compared', async () => {
  const random = (seed: number) => Array.from({ length: 128 }, (_, index) => Math.sin(seed * 7_919 + index * 104_729));
  const near = random(0);
  const byText: Embed = (texts) =>
    Promise.resolve(
      texts.map((text) => {
        const number = Number(/\d+/.exec(text)?.[0]);
        // Twenty are ever less like the query, the others have nothing to do with it.
        return number < 20
          ? near.map((value, index) => value + (number / 15) * random(number + 1)[index]!)
          : random(number + 1);
      }),
    );
  knowledge = await openTestKnowledge({ model: 'numbers', embed: () => Promise.resolve([near]) });
  for (let number = 0; number < 260; number += 1) knowledge.write(`${number}.md`, `number ${number}`);
  await knowledge.import({ embeddings: { model: 'numbers', embed: byText } });
  const { hits, mode } = await knowledge.base.search({ query: 'nothing' }, signal());
  expect(mode).toBe('semantic');
  const vectors = await byText(
    Array.from({ length: 260 }, (_, number) => `${number}`),
    signal(),
  );
  const scores = vectors.map((vector, number) => ({ number, score: cosine(near, bytesOf(vector)) }));
  scores.sort((one, other) => other.score - one.score);
  expect(hits.map(({ id }) => id)).toEqual(scores.slice(0, 10).map(({ number }) => `test/${number}.md`));
});

test('vectors keep their directions in a byte for each number', () => {
  const vector = [0.5, -0.25, 0, 0.125];
  expect(signsOf(vector)).toBe('1001');
  expect(cosine(vector, bytesOf(vector))).toBeGreaterThan(0.999);
  expect(cosine(vector, bytesOf(vector.map((value) => -3 * value)))).toBeLessThan(-0.999);
  expect(cosine(vector, bytesOf([0, 0, 0, 0]))).toBe(0);
});

test('ranks of two lists become one, with the passage of the first', () => {
  const ranked = (documentId: string, passageId: string) => ({ documentId, passageId, score: 1, dateMs: 0 });
  const fused = fuse([
    [ranked('a', '1'), ranked('b', '2')],
    [ranked('b', '3'), ranked('c', '4')],
  ]);
  expect(fused.map(({ documentId, passageId }) => documentId + passageId)).toEqual(['b2', 'a1', 'c4']);
  expect(fused[0]!.score).toBeCloseTo(1 / 61 + 1 / 62);
});
