import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestKnowledge, signal, type TestKnowledge } from '../../../test/support/knowledge.js';
import { verifies } from '../../../test/verifies.js';
import { type SearchInput, searchInput, searchOutput } from './search-input.js';

describe('KnowledgeBase', () => {
  let knowledge: TestKnowledge;
  const search = (query: string, more: Omit<SearchInput, 'query'> = {}) =>
    knowledge.base.search({ query, ...more }, signal());
  const found = async (query: string, more?: Omit<SearchInput, 'query'>) =>
    (await search(query, more)).hits.map(({ id }) => id);

  beforeAll(async () => {
    knowledge = await openTestKnowledge();
    const { write } = knowledge;
    write(
      'ops/restart.md',
      '---\ndate: 2026-03-05\nurl: https://wiki.example/restart\n---\n# Restarting\n\nThe gateways restarted one by one.',
    );
    write(
      'ops/backup.md',
      '---\ndate: 2026-03-31T23:30:00Z\n---\n# Backups\n\nBack up PostgreSQL nightly. A 100% copy: c:\\new\\data.',
    );
    write(
      'ops/notes.md',
      `---\ndate: 2026-05-01\ncategory: notes\n---\n# Notes\n\nIt's O'Brien's (secret) plan: a & b | !c <-> d:* "quoted words".`,
    );
    write(
      'guide/cafe.md',
      '---\ndate: 2026-04-02\n---\n# Café\n\nThe Café serves ＴＥＡ and naïve cats. To be or not to be.',
    );
    write('guide/cats.md', '---\ndate: 2026-04-01\n---\n# 猫\n\n小猫喜欢晒太阳，主人给猫喂鱼。全文检索支持中文。');
    for (let day = 1; day <= 27; day += 1)
      write(
        `many/${day}.md`,
        `---\ndate: 2025-01-${String(day).padStart(2, '0')}\n---\n# Day ${day}\n\nThe same weather everywhere.`,
      );
    expect(await knowledge.import()).toMatchObject({ imported: 32, failed: [] });
    knowledge.write('elsewhere.md', '# Elsewhere\n\nA gateway of another source.');
    await knowledge.import({ source: 'other' });
  });
  afterAll(() => knowledge.close());

  test('what is in one place only', async () => {
    const result = await search('how does a gateway restart?', { filters: { source: ['test'] } });
    expect(result).toMatchObject({ total: 1, mode: 'fulltext' });
    expect(result.hits).toEqual([
      {
        id: 'test/ops/restart.md',
        title: 'Restarting',
        snippet: '**Restarting** The **gateways** **restarted** one by one.',
        score: expect.any(Number) as number,
        source: 'test',
        category: 'ops',
        date: '2026-03-05T00:00:00.000Z',
        url: 'https://wiki.example/restart',
      },
    ]);
    expect(result.text).toBe(
      'Hits 1 to 1 of 1:\n1. Restarting (test · ops · 2026-03-05 · https://wiki.example/restart)\n' +
        '   **Restarting** The **gateways** **restarted** one by one.',
    );
    expect(searchOutput.parse(result)).toMatchObject({ total: 1 });
    expect(await found('cafe tea NAIVE', { filters: { source: ['test'] } })).toEqual(['test/guide/cafe.md']);
    expect(await knowledge.base.countDocuments(signal())).toBe(65);
  });

  test('Chinese by words, and by a single character; the text is in the language of the query', async () => {
    for (const query of ['中文全文检索', '猫', '谁给小猫喂鱼？'])
      expect(await found(query), query).toContain('test/guide/cats.md');
    const { text, hits } = await search('太阳', { filters: { source: ['test'] } });
    expect(hits[0]?.snippet).toBe('猫 小猫喜欢晒**太阳**，主人给猫喂鱼。全文检索支持中文。');
    expect(text).toMatch(/^第 1 至 1 条结果，共 1 条：\n1\. 猫/);
    expect((await search('量子')).text).toMatch(/^没有找到/);
    expect((await search('quantum')).text).toMatch(/^Nothing found/);
  });

  verifies('knowledge.exact', 'order, case, signs, words that no index has', async () => {
    const ours = { filters: { source: ['test'] } };
    const exactly = async (query: string) => {
      const { mode, hits } = await search(query, ours);
      expect(mode).toBe('exact');
      return hits.map(({ id }) => id);
    };
    expect(await exactly('"restarted one by one"')).toEqual(['test/ops/restart.md']);
    expect(await exactly('"one by one restarted"')).toEqual([]);
    expect(await exactly('“GATEWAYS RESTARTED”')).toEqual(['test/ops/restart.md']);
    expect(await exactly('「小猫喜欢」')).toEqual(['test/guide/cats.md']);
    expect(await exactly('"小猫喂鱼"')).toEqual([]);
    expect(await exactly('"100%"')).toEqual(['test/ops/backup.md']);
    expect(await exactly('"c:\\new"')).toEqual(['test/ops/backup.md']);
    expect(await exactly('"to be or not to be"')).toEqual(['test/guide/cafe.md']);
    expect(await exactly('"or not to"')).toEqual(['test/guide/cafe.md']);
    expect(await exactly('"to not or"')).toEqual([]);
    expect(await exactly(`"O'Brien's (secret) plan: a & b | !c <-> d:*"`)).toEqual(['test/ops/notes.md']);
    const [hit] = (await search('"gateways restarted"', ours)).hits;
    expect(hit?.snippet).toBe('Restarting The **gateways restarted** one by one.');
  });

  verifies('knowledge.exact', 'syntax of queries, quotation marks, NUL, half of a pair', async () => {
    const hostile = [
      'a & b',
      'a | !b',
      "it's",
      "''; drop table knowledge_documents; --",
      '\\',
      "\\'",
      ':*',
      'cat:*',
      '<->',
      '(',
      '%',
      '_',
      '$1',
      '"',
      '""',
      '"a',
      '“',
      '"a"b"',
      '\0',
      'cat\0s',
      '\ud800',
      '\udc00cats',
      '!!!',
      '😀',
      'x'.repeat(1_000),
      '猫'.repeat(1_000),
      '"\0"',
      `"${'%'.repeat(900)}"`,
      '"\\"',
      '"\'"',
      'ﷺ',
      '\u202e',
      'a\u0301\u0301\u0301',
    ];
    for (const query of hostile) {
      const { hits, total } = await search(query);
      expect(hits.length, query).toBeLessThanOrEqual(total);
    }
    // As words, the signs are left out.
    expect(await found("gateways & restarted | !'; --", { filters: { source: ['test'] } })).toEqual([
      'test/ops/restart.md',
    ]);
    expect(await knowledge.base.countDocuments(signal())).toBe(65);
  });

  verifies('knowledge.filters', 'category, source, first and last day, all at once', async () => {
    const filtered = async (filters: SearchInput['filters']) =>
      (await found('gateway backup 猫 cafe plan', { filters })).sort();
    expect(await filtered({ category: ['guide'], source: ['test'] })).toEqual([
      'test/guide/cafe.md',
      'test/guide/cats.md',
    ]);
    expect(await filtered({ category: ['notes', 'nothing'], source: ['test'] })).toEqual(['test/ops/notes.md']);
    expect(await filtered({ source: ['other'], category: ['general'] })).toEqual(['other/elsewhere.md']);
    expect(await filtered({ source: ['nothing'] })).toEqual([]);
    const inMarch = { start: '2026-03-05', end: '2026-03-31' };
    expect(await filtered({ source: ['test'], dateRange: inMarch })).toEqual([
      'test/ops/backup.md',
      'test/ops/restart.md',
    ]);
    expect(await filtered({ source: ['test'], dateRange: { ...inMarch, end: '2026-03-31T23:00:00Z' } })).toEqual([
      'test/ops/restart.md',
    ]);
    expect(await filtered({ source: ['test'], dateRange: { start: '2026-05-01T02:00:00+02:00' } })).toEqual([
      'test/ops/notes.md',
    ]);
    expect(await filtered({ dateRange: { end: '0000-01-01' } })).toEqual([]);
    const sorted = await search('gateway backup cats plan', {
      filters: { source: ['test'] },
      options: { sortBy: 'date' },
    });
    const dates = sorted.hits.map(({ date }) => date);
    expect(dates).toEqual([...dates].sort().reverse());
    expect(dates.length).toBeGreaterThan(2);
  });

  verifies('knowledge.paging', 'pages of seven, twice, by relevance and date', async () => {
    for (const sortBy of ['relevance', 'date'] as const) {
      const all: string[] = [];
      for (let offset = 0; offset < 35; offset += 7) {
        const options = { limit: 7, offset, sortBy };
        const page = await search('same weather', { filters: { source: ['test'] }, options });
        expect(page.total).toBe(27);
        expect(await found('same weather', { filters: { source: ['test'] }, options })).toEqual(
          page.hits.map(({ id }) => id),
        );
        all.push(...page.hits.map(({ id }) => id));
      }
      expect(all).toHaveLength(27);
      expect(new Set(all).size).toBe(27);
    }
    const beyond = await search('same weather', { filters: { source: ['test'] }, options: { offset: 27 } });
    expect(beyond).toMatchObject({ hits: [], total: 27, text: 'No hits at this offset: there are only 27.' });
  });

  verifies('knowledge.bounded', 'empty, too long, too many, no dates, start after end', async () => {
    const refused: unknown[] = [
      {},
      { query: '' },
      { query: ' \n' },
      { query: 'x'.repeat(1_001) },
      { query: 7 },
      ...[{ limit: 0 }, { limit: 101 }, { limit: 1.5 }, { offset: -1 }, { sortBy: 'name' }].map((options) => ({
        query: 'a',
        options,
      })),
      ...[{ category: [] }, { source: [''] }, { source: Array.from({ length: 101 }, () => 'a') }].map((filters) => ({
        query: 'a',
        filters,
      })),
      ...[{ start: 'yesterday' }, { start: '2026-02-30' }, { start: '2026-02-02', end: '2026-02-01' }].map(
        (dateRange) => ({
          query: 'a',
          filters: { dateRange },
        }),
      ),
    ];
    for (const input of refused) {
      expect(searchInput.safeParse(input).success, JSON.stringify(input)).toBe(false);
      await expect(knowledge.base.search(input as SearchInput, signal())).rejects.toThrow();
    }
    const sameDay = { query: 'a', filters: { dateRange: { start: '2026-02-01T12:00:00Z', end: '2026-02-01' } } };
    expect(searchInput.safeParse(sameDay).success).toBe(true);
    expect(searchInput.safeParse(refused.at(-1)).error?.issues[0]).toMatchObject({
      message: 'starts after it ends',
      path: ['filters', 'dateRange'],
    });
  });

  test('a search that is cancelled ends with its reason', async () => {
    const cancelled = AbortSignal.abort(new Error('gone'));
    await expect(knowledge.base.search({ query: 'cats' }, cancelled)).rejects.toThrow('gone');
  });
});
