// The list of runs on a table of many runs: `LISTED_RUNS=1000000` measures how long pages take at a million.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import { Prisma } from '#libs/postgres/prisma-client/client.js';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/services/test-database.js';
import { fillCalls, fillRounds, fillRuns } from '../../../test/support/many-runs.js';
import { verifies } from '../../../test/verifies.js';
import { factsOf } from './run-facts.js';
import type { RunFilter } from './run-filter.js';
import { RunListing } from './run-listing.js';

const count = Number(process.env['LISTED_RUNS'] ?? 40_000);
const start = Date.UTC(2026, 8, 1);
const idOf = (n: number) => `run_${(start + n * 1_000).toString(16).padStart(12, '0')}${'7'.padEnd(20, '0')}`;
const at = (n: number) => new Date(start + n * 1_000);
/** Far apart, so that no page of all runs has two of them. */
const rare = [10, Math.floor(count / 2), count - 10];
const rareIds = rare.map(idOf).reverse();

/** Rows that the nodes of a plan read, and did not pass on. */
interface Plan {
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

function rowsRead(plan: Plan): number {
  const inner = (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0);
  if (plan['Relation Name'] === undefined && plan['Index Name'] === undefined) return inner;
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  return inner + (plan['Actual Rows'] + removed) * plan['Actual Loops'];
}

describe('the list of runs', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let client: pg.Client;
  let listing: RunListing;
  const statements: Prisma.Sql[] = [];

  beforeAll(async () => {
    testDatabase = await createMigratedDatabase();
    database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 20_000, applicationName: 'test' });
    client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
    await client.query('set enable_seqscan = off');
    await client.query(fillRuns, [start, count]);
    await client.query(fillRounds);
    await client.query(fillCalls);
    const names = `model = 'rare', principal = 'alice', session_id = 'rare', asked = 'a Needle in 100% hay'`;
    const error = `state = 'failed', error = '{"code":"rare_error","message":"m","type":"t"}'`;
    await client.query(`update runs set ${names}, ${error} where id = any($1)`, [rareIds]);
    await client.query(`update run_rounds set model = 'rare/answer' where run_id = any($1)`, [rareIds]);
    await client.query(`update tool_calls set server = 'rare', tool = 'rare' where run_id = any($1)`, [rareIds]);
    await client.query(`update tool_calls set state = 'parked' where run_id = $1`, [rareIds[1]]);
    await client.query(`update runs set state = 'interrupted' where id = $1`, [rareIds[1]]);
    await client.query('vacuum analyze');
    // The statements pass through, and are noted on the way.
    const watched: Pick<Database, 'call'> = {
      call: (work, signal) =>
        database.call((prisma) => {
          const note = (statement: Prisma.Sql) => {
            statements.push(statement);
            return prisma.$queryRaw(statement);
          };
          return work(Object.create(prisma, { $queryRaw: { value: note } }) as typeof prisma);
        }, signal),
    };
    listing = new RunListing(watched);
  }, 1_200_000);
  afterAll(async () => {
    await client.end();
    await database.close();
    await testDatabase.drop();
  });

  const all = async (filter: RunFilter, limit = 50) => {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listing.page(filter, limit, cursor);
      ids.push(...page.rows.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== undefined);
    return ids;
  };

  const filters: [string, RunFilter, readonly string[]][] = [
    ['model', { model: 'rare' }, rareIds],
    ['a model that answered', { model: 'provider/rare/answer' }, rareIds],
    ['principal', { principal: 'alice' }, rareIds],
    ['session', { session: 'rare' }, rareIds],
    ['tool on any server', { tool: 'rare' }, rareIds],
    ['tool of a server', { tool: 'rare/rare' }, rareIds],
    ['tool of another server', { tool: 'other/rare' }, []],
    ['error', { error: 'rare_error' }, rareIds],
    ['waiting', { state: 'waiting' }, [rareIds[1]!]],
    ['state', { state: 'failed', principal: 'alice' }, [rareIds[0]!, rareIds[2]!]],
    ['done', { state: 'done', principal: 'alice' }, []],
    ['text', { text: 'nEEDLE in 100%', since: at(rare[2]! - 500) }, [rareIds[0]!]],
    ['text of the id', { text: idOf(count - 7).slice(8), since: at(count - 500) }, [idOf(count - 7)]],
    ['since and until', { since: at(100), until: at(103) }, [102, 101, 100].map(idOf)],
    ['several', { model: 'rare', tool: 'rare/rare', error: 'rare_error', session: 'rare' }, rareIds],
    ['what is no SQL', { session: "x' or true --" }, []],
    ['NUL', { principal: 'a\0' }, []],
  ];
  for (const [name, filter, expected] of filters) {
    verifies('runs.listed', name, async () => {
      expect(await all(filter)).toEqual(expected);
    });
  }

  verifies('runs.listed', 'page by page, each run once, newest first, while new ones are written', async () => {
    const filter: RunFilter = { principal: 'user-7' };
    const seen: string[] = [];
    let cursor: string | undefined;
    let page = 0;
    do {
      const { rows, cursor: next } = await listing.page(filter, 90, cursor);
      seen.push(...rows.map(({ id }) => id));
      cursor = next;
      page += 1;
      await client.query(fillRuns.replace('generate_series(1, $2::int)', 'generate_series($2::int, $2::int)'), [
        start,
        count + page * 50 + 7,
      ]);
    } while (cursor !== undefined && page < 12);
    const expected = Array.from({ length: seen.length }, (_, index) =>
      idOf(Math.floor((count - 7) / 50) * 50 + 7 - index * 50),
    );
    expect(seen).toEqual(expected);
    await client.query('delete from runs where id > $1', [idOf(count)]);
  });

  verifies('runs.listed', 'a cursor that is none', async () => {
    for (const cursor of ['x', '', 'run_', `run_${'g'.repeat(32)}`]) {
      await expect(listing.page({}, 10, cursor)).rejects.toMatchObject({ code: 'invalid_value', param: 'cursor' });
    }
  });

  const common: [string, RunFilter][] = [
    ['none', {}],
    ['state', { state: 'failed' }],
    ['state done', { state: 'done' }],
    ['waiting', { state: 'waiting' }],
    ['model', { model: 'model-3' }],
    ['a model that answered', { model: 'provider/answered-3' }],
    ['a principal', { principal: 'user-3' }],
    ['a session', { session: 'session-3' }],
    ['a tool', { tool: 'server/tool-3' }],
    ['an error', { error: 'code_3' }],
    ['a text that is nowhere', { text: 'nowhere' }],
    ['a common text', { text: 'task' }],
    ['a time', { since: at(count / 4), until: at(count / 2) }],
    ['a tool and a principal that never meet', { tool: 'server/tool-3', principal: 'user-4' }],
    ['a model and a state', { model: 'model-3', state: 'failed' }],
    [
      'all at once',
      { principal: 'alice', tool: 'tool-1', model: 'model-1', state: 'done', text: 'task', session: 'session-1' },
    ],
  ];
  for (const [name, filter] of common) {
    verifies('runs.bounded-listing', name, async () => {
      const took: number[] = [];
      for (let time = 0; time < (count > 40_000 ? 9 : 1); time += 1) {
        statements.length = 0;
        const began = performance.now();
        const { rows } = await listing.page(filter, 50);
        await factsOf(
          database,
          rows.map(({ id }) => id),
        );
        took.push(performance.now() - began);
      }
      const [least, median, most] = [0, 4, 8].map((place) => took.toSorted((one, other) => one - other)[place]);
      if (most !== undefined) process.stdout.write(`${name}: ${least} to ${most} ms, median ${median}\n`);
      expect(statements.length).toBeGreaterThan(0);
      for (const { text, values } of statements) {
        const explained = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
          `explain (analyze, format json) ${text}`,
          values,
        );
        const plan = explained.rows[0]!['QUERY PLAN'][0].Plan;
        const read = rowsRead(plan);
        // At most 1,000 entries are read, and for each its run and a few of that run's calls or rounds.
        expect(read, `${text}\n${JSON.stringify(plan, null, 1)}`).toBeLessThanOrEqual(12_000);
        expect(JSON.stringify(plan)).not.toContain('Seq Scan');
      }
    });
  }
});
