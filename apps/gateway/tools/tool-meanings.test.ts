// Tools that are found by what they mean: other words, failures of the embeddings server, what is kept for other gateways.
import { afterEach, expect, test } from 'vitest';
import type { Embed } from '#libs/embeddings/embedding.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { catalogTool } from '../../../test/support/catalog-tool.js';
import { verifies } from '../../../test/verifies.js';
import { ToolFinder } from './tool-finder.js';
import { ToolMeanings } from './tool-meanings.js';

const subjects = [
  ['invoice', 'bill', '账单'],
  ['picture', 'photo', 'image'],
  ['weather', 'forecast', 'rain'],
];
const directions = (text: string) => subjects.map((words) => (words.some((word) => text.includes(word)) ? 1 : 0.1));

const { signal } = new AbortController();
const isShown = () => true;
const tools = [
  catalogTool('many', 'list_invoice', { description: 'Every invoice of a customer' }),
  catalogTool('many', 'read_photo', { description: 'Reads a photo' }),
  catalogTool('sky', 'get_forecast', { description: 'The weather of tomorrow' }),
];

/** Another gateway shares the cache. */
class MapCache extends Map<string, string> {
  readonly ports = {
    get: (key: string) => Promise.resolve(this.get(key)),
    set: async (key: string, value: string) => void this.set(key, value),
  };
}

const opened: ToolMeanings[] = [];
afterEach(async () => {
  for (const meanings of opened.splice(0)) await meanings.close();
});

function open(embed: Embed, cache = new MapCache()) {
  const asked: string[][] = [];
  const counted: Embed = (texts, within) => {
    asked.push(texts);
    return embed(texts, within);
  };
  const embeddings = { model: 'subjects', embed: counted };
  const meanings = new ToolMeanings({ embeddings, cache: cache.ports, logger: silentLogger });
  opened.push(meanings);
  const namesOf = async (query: string, given: { limit?: number; isShown?: (tool: CatalogTool) => boolean } = {}) => {
    const found = await new ToolFinder(meanings).find(query, tools, { limit: 1, isShown, signal, ...given });
    return found.map(({ name }) => name);
  };
  return { meanings, asked, namesOf };
}

const knows: Embed = (texts) => Promise.resolve(texts.map(directions));

verifies('tools.search-meaning', 'other words, another language, only what is shown', async () => {
  const { meanings, namesOf } = open(knows);
  meanings.learn(tools);
  await meanings.settled();
  expect(await namesOf('show the bill')).toEqual(['list_invoice']);
  expect(await namesOf('账单')).toEqual(['list_invoice']);
  expect(await namesOf('will there be rain')).toEqual(['get_forecast']);
  // What is found by words and by meaning is before what only one of both finds.
  expect(await namesOf('photo image', { limit: 3 })).toEqual(['read_photo', 'list_invoice', 'get_forecast']);
  expect(await namesOf('show the bill', { limit: 3, isShown: ({ name }) => name !== 'list_invoice' })).not.toContain(
    'list_invoice',
  );
});

verifies(
  'tools.search-meaning',
  'one request for some tools of a server, and none for what another gateway has learnt',
  async () => {
    const cache = new MapCache();
    const first = open(knows, cache);
    first.meanings.learn(tools);
    await first.meanings.settled();
    expect(first.asked.map((texts) => texts.length)).toEqual([2, 1]);
    first.meanings.learn(tools);
    await first.meanings.settled();
    expect(first.asked).toHaveLength(2);
    const second = open(knows, cache);
    second.meanings.learn(tools.map((tool) => ({ ...tool })));
    await second.meanings.settled();
    expect(second.asked).toEqual([]);
    const alias = { ...tools[0]!, name: 'rechnungen', aliasOf: tools[0]! };
    expect(await first.meanings.nearest('bill', [alias], signal)).toEqual([alias]);
  },
);

verifies('tools.search-meaning', 'without an answer, words decide', async () => {
  const fails: Embed[] = [
    () => Promise.reject(new Error('away')),
    () => Promise.resolve([]),
    (texts) => Promise.resolve(texts.map(() => [])),
    // It never answers: the search does not wait for longer than a second.
    (_texts, within) =>
      new Promise((_resolve, reject) =>
        within.addEventListener('abort', () => reject(within.reason as Error), { once: true }),
      ),
  ];
  for (const fail of fails) {
    const learnt = open(knows);
    learnt.meanings.learn(tools);
    await learnt.meanings.settled();
    const { namesOf, asked } = open(fail);
    expect(await namesOf('invoice')).toEqual(['list_invoice']);
    // It rests then: the next search does not ask.
    expect(await namesOf('forecast')).toEqual(['get_forecast']);
    expect(asked).toHaveLength(1);
  }
});

test('a search that is given up throws, and a gateway that stops does not wait for what is being learnt', async () => {
  const hangs: Embed = (_texts, within) =>
    new Promise((_resolve, reject) =>
      within.addEventListener('abort', () => reject(within.reason as Error), { once: true }),
    );
  const { meanings } = open(hangs);
  const leaving = new AbortController();
  const search = meanings.nearest('invoice', tools, leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(search).rejects.toThrow('gone');
  meanings.learn(tools);
  await meanings.close();
});
