// What a search of the knowledge base takes among 100,000 passages, one search at a time: by words in English and Chinese, by
// exact texts, with filters, and by meaning with vectors of 768 numbers. The corpus is made of words as frequent as they are
// in real texts, and goes the way of an import from its passages on.
import { readFileSync, readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { DocumentStore } from '../apps/chimech/knowledge/import/document-store.js';
import { KnowledgeBase } from '../apps/chimech/knowledge/knowledge-base.js';
import { KnowledgeDatabase } from '../apps/chimech/knowledge/knowledge-database.js';
import type { SearchInput } from '../apps/chimech/knowledge/search-input.js';

export const knowledgeScenario = 'knowledge, 100,000 passages';

const goalMs = 100;
const passagesADocument = 10;
const dimensions = 768;
const model = 'bench';
const searches = 200;

interface Corpus {
  english: string[];
  chinese: string[];
}

/** Prints the figures. Leaves the passages in the database. */
export async function measureKnowledge(url: string, passages: number): Promise<void> {
  const random = randomNumbers(1);
  const corpus = readCorpus();
  const database = new KnowledgeDatabase({ url, timeoutMs: 600_000, poolSize: 4 });
  const embed = (texts: string[]) => Promise.resolve(texts.map((text) => vectorOf(text)));
  const byWords = new KnowledgeBase({ url, timeoutMs: 30_000 });
  const byBoth = new KnowledgeBase({ url, timeoutMs: 30_000, embeddings: { model, embed } });
  try {
    const began = performance.now();
    const texts = await fill(database, corpus, passages, random);
    console.log(`${knowledgeScenario.padEnd(44)} ${passages} passages in ${seconds(began)} s, load ${load()}`);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const some = (text: string, count: number) => {
      const words = text.split(/(?<=\p{Script=Han})| /u);
      const at = Math.floor(random() * (words.length - count));
      return words.slice(at, at + count);
    };
    const english = (count: number) => some(pick(texts.english), count).join(' ');
    const chinese = (count: number) => some(pick(texts.chinese), count).join('');
    const kinds: Record<string, () => SearchInput> = {
      'one word': () => ({ query: pick(corpus.english) }),
      'three words': () => ({ query: english(3) }),
      'a question of ten words': () => ({ query: english(10) }),
      'Chinese, four characters': () => ({ query: chinese(4) }),
      'Chinese, sixteen characters': () => ({ query: chinese(16) }),
      'exact, three words': () => ({ query: `"${english(3)}"` }),
      'exact, Chinese': () => ({ query: `“${chinese(5)}”` }),
      'five words in one of twenty categories': () => ({
        query: english(5),
        filters: { category: [`category-${Math.floor(random() * 20)}`] },
      }),
      'five words of a month, by date': () => ({
        query: english(5),
        filters: { dateRange: { start: '2026-03-01', end: '2026-03-31' } },
        options: { sortBy: 'date' },
      }),
    };
    for (const [kind, input] of Object.entries(kinds)) print(kind, await time(byWords, input));
    print('hybrid, five words', await time(byBoth, () => ({ query: english(5) })));
    print('hybrid, Chinese', await time(byBoth, () => ({ query: chinese(8) })));
  } finally {
    await Promise.all([database.close(), byWords.close(), byBoth.close()]);
  }
}

async function fill(database: KnowledgeDatabase, corpus: Corpus, passages: number, random: () => number) {
  const signal = new AbortController().signal;
  const store = new DocumentStore(database, signal);
  const texts: Corpus = { english: [], chinese: [] };
  const make = async (number: number) => {
    const inChinese = number % 5 === 0;
    const [words, count, between] = inChinese ? [corpus.chinese, 110, ''] : [corpus.english, 150, ' '];
    const written = Array.from({ length: passagesADocument }, () =>
      Array.from({ length: count }, () => words[Math.floor(random() * words.length)]!).join(between),
    );
    if (texts.english.length < 2_000 || inChinese) texts[inChinese ? 'chinese' : 'english'].push(...written);
    await store.replace(
      {
        id: `bench/${number}`,
        source: 'bench',
        title: written[0]!.slice(0, 40),
        category: `category-${number % 20}`,
        date: new Date(Date.UTC(2026, number % 12, 1 + (number % 28))),
        url: undefined,
        contentHash: '',
      },
      written.map((text) => ({ heading: '', text })),
    );
  };
  for (let number = 0; number < passages / passagesADocument; number += 4)
    await Promise.all([0, 1, 2, 3].map((next) => make(number + next)));
  await store.countWords();
  for (let after = '0'; ;) {
    const batch = await store.withoutEmbedding(model, after, 1_000);
    if (batch.length === 0) break;
    await store.addEmbeddings(
      model,
      batch,
      batch.map(({ text }) => vectorOf(text)),
    );
    after = batch.at(-1)!.id;
  }
  await database.rows(
    'vacuum analyze knowledge_documents, knowledge_passages, knowledge_pairs, knowledge_signs, knowledge_vectors',
    [],
    signal,
  );
  return texts;
}

/** Words as often as they are in the texts: those of the packages that are installed, and of the tests' Chinese articles. */
function readCorpus(): Corpus {
  const english = readdirSync('node_modules').flatMap((name) => {
    try {
      return (
        readFileSync(join('node_modules', name, 'README.md'), 'utf8')
          .toLowerCase()
          .match(/[a-z]{2,20}/g) ?? []
      );
    } catch {
      return [];
    }
  });
  const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });
  const articles = readFileSync('test/fixtures/knowledge/chinese-articles.txt', 'utf8');
  const chinese = [...segmenter.segment(articles)]
    .map(({ segment }) => segment)
    .filter((word) => /\p{Script=Han}/u.test(word));
  return { english, chinese };
}

async function time(base: KnowledgeBase, input: () => SearchInput) {
  const signal = AbortSignal.timeout(600_000);
  const [took, found]: [number[], number[]] = [[], []];
  for (let search = -20; search < searches; search += 1) {
    const asked = input();
    const began = performance.now();
    const { total } = await base.search(asked, signal);
    if (search < 0) continue;
    took.push(performance.now() - began);
    found.push(total);
  }
  took.sort((one, other) => one - other);
  const at = (share: number) => took[Math.floor(took.length * share)]!;
  return { p50: at(0.5), p95: at(0.95), worst: took.at(-1)!, found: found.filter((total) => total > 0).length };
}

function print(kind: string, { p50, p95, worst, found }: Awaited<ReturnType<typeof time>>): void {
  console.log(
    `  ${kind.padEnd(42)} p50 ms: ${p50.toFixed(1)} | p95 ms: ${p95.toFixed(1)} | worst ms: ${worst.toFixed(1)} | ` +
      `with hits: ${found}/${searches} | load ${load()} | p95 ≤ ${goalMs} ms: ${p95 <= goalMs ? 'met' : 'missed'}`,
  );
}

/** The same for the same text, and near for texts with the same words. */
function vectorOf(text: string): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const word of text.split(/(?<=\p{Script=Han})| /u)) {
    const random = randomNumbers(
      Array.from(word).reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) >>> 0, 7),
    );
    for (let count = 0; count < 24; count += 1) vector[Math.floor(random() * dimensions)]! += random() - 0.5;
  }
  return vector;
}

/** mulberry32 */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const seconds = (began: number) => ((performance.now() - began) / 1_000).toFixed(0);
const load = () => loadavg()[0]!.toFixed(1);
