// Ten times as many turns as a gateway takes: those above are refused while the others still run, and leave nothing.
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Signalbox, startSignalbox } from '#libs/testing/start-signalbox.js';
import { effects, post, turnOf } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const limit = 20;
let box: Signalbox;
let goOn!: () => void;

beforeAll(async () => {
  const told = new Promise<void>((resolve) => (goOn = resolve));
  box = await startSignalbox({
    script: async (request) => {
      await told;
      return effects(request);
    },
    environment: { LIMITS_TURNS: String(limit) },
  });
});
afterAll(() => box?.close());

verifies('chat.overload', '200 turns at once where 20 are taken', async () => {
  const names = Array.from({ length: 10 * limit }, (_, at) => `turn_${at}`);
  let refusedSoFar = 0;
  const answers = names.map(async (name) => {
    const answer = await post(box.url, '/api/chat/completions', turnOf(name));
    if (answer.status !== 200) refusedSoFar += 1;
    return { name, ...answer };
  });
  // The model has not said a word yet.
  await expect.poll(() => refusedSoFar, { timeout: 20_000 }).toBe(names.length - limit);
  goOn();
  const [taken, refused] = [[], []] as Awaited<(typeof answers)[number]>[][];
  for (const answer of await Promise.all(answers)) (answer.status === 200 ? taken : refused)!.push(answer);
  expect(taken!.map(({ body }) => body.choices[0]!.message.content)).toEqual(taken!.map(({ name }) => `done ${name}`));
  for (const { status, headers, body } of refused!) {
    expect([status, body.error?.code]).toEqual([429, 'concurrency_exceeded']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  const { rows } = await client.query('select count(*)::int as runs from runs');
  await client.end();
  expect(rows).toEqual([{ runs: limit }]);
  expect((await post(box.url, '/api/chat/completions', turnOf('later'))).status).toBe(200);
});
