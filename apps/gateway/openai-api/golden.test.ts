// Every case of test/golden with every family, streamed in arbitrary pieces and whole. UPDATE_GOLDEN=1 writes the results as
// the expected ones: read the difference before you commit it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import {
  goldenFamilies,
  type GoldenCase,
  type GoldenFamilyName,
  type GoldenOutcome,
  runGolden,
} from '../../../test/support/golden-matrix.js';
import type { GoldenUpstream } from '../../../test/support/golden-provider.js';
import { verifies } from '../../../test/verifies.js';

const root = fileURLToPath(new URL('../../../test/golden/', import.meta.url));
const names = readdirSync(root).sort();
const update = process.env['UPDATE_GOLDEN'] === '1';

const read = (path: string): unknown => JSON.parse(readFileSync(`${root}${path}`, 'utf8'));
const has = (path: string): boolean => existsSync(`${root}${path}`);

/** Prompted models use OpenAI's protocol, so both families share a file if the answer is the same. */
const upstreamPath = (name: string, family: GoldenFamilyName): string => {
  const own = `${name}/${family}.upstream.json`;
  return family === 'prompted' && !has(own) ? `${name}/openai.upstream.json` : own;
};

async function expected(path: string, outcome: GoldenOutcome): Promise<unknown> {
  if (!update) return read(path);
  const options = await resolveConfig(`${root}${path}`);
  writeFileSync(`${root}${path}`, await format(JSON.stringify(outcome), { ...options, parser: 'json' }));
  return outcome;
}

for (const name of names) {
  const golden = read(`${name}/case.json`) as GoldenCase;
  const families = goldenFamilies.filter((family) =>
    ['upstream', 'expected'].some((kind) => has(`${name}/${family}.${kind}.json`)),
  );
  const heard = new Map<GoldenFamilyName, unknown>();

  for (const family of families) {
    const upstreams = read(upstreamPath(name, family)) as GoldenUpstream[];
    const run = (stream: boolean, split: number) => runGolden(golden, { family, upstreams, stream, split });

    verifies('models.families.golden', `${name}, ${family}: ${golden.about}`, async () => {
      const outcome = await run(true, 1_000);
      expect(outcome.sends.length, 'answers that nobody asked for').toBe(upstreams.length);
      expect(outcome).toEqual(await expected(`${name}/${family}.expected.json`, outcome));
      for (const split of [1, 7]) expect(await run(true, split), `in pieces of ${split}`).toEqual(outcome);
      const isWhole = upstreams.every(({ whole, status }) => whole !== undefined || status !== undefined);
      if (isWhole) expect((await run(false, 1_000)).gets, 'not streamed').toEqual(outcome.gets);
      heard.set(family, outcome.gets.map(withoutVendor));
    });
  }

  if (golden.differs === undefined) {
    verifies('models.families.golden', `${name}: the caller cannot tell the families apart`, () => {
      expect(families).toEqual([...goldenFamilies]);
      for (const family of families) expect(heard.get(family), family).toEqual(heard.get('openai'));
    });
  }
}

/** Without what differs by family: the model's name, the counts and the extras. */
function withoutVendor({ choices, error, status, headers }: JsonObject): object {
  if (error !== undefined) return { status, headers, code: (error as JsonObject)['code'] };
  return (choices as { message: JsonObject; finish_reason: string }[]).map(({ message, finish_reason }) => ({
    content: message['content'],
    calls: ((message['tool_calls'] ?? []) as JsonObject[]).map((call) => call['function']),
    finish_reason,
  }));
}
