import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { runnableCall } from '../../../../test/support/runnable-call.js';
import { someCall } from '../../../../test/support/stored-rows.js';
import { openServices, requestContext, type Services } from '../../../../test/support/queue-path.js';
import { verifies } from '../../../../test/verifies.js';
import { CachedResults } from './cached-results.js';

let services: Services;
beforeAll(async () => {
  services = await openServices();
});
afterAll(() => services?.close());

const tool: CatalogTool = {
  server: 'docs',
  tool: 'search',
  name: 'search',
  description: '',
  inputSchema: { type: 'object' },
  annotations: {},
  definitionHash: 'hash',
  available: true,
  safe: true,
  readOnly: true,
  timeoutMs: 1_000,
  maxTimeoutMs: 1_000,
  cacheTtlMs: 60_000,
};

interface Asked {
  args?: JsonObject;
  tool?: Partial<CatalogTool>;
  context?: Partial<CallContext>;
}

/** The cache of a gateway before a runner that counts what really runs. */
function openRunner(
  answer: (nth: number) => Promise<ToolOutcome> | ToolOutcome = text,
  files: Record<string, string> = {},
) {
  let runs = 0;
  const lookups: string[] = [];
  const { journal, backing } = services;
  const kept = new CachedResults({
    cache: backing.cache,
    journal,
    fileIdentity: async (_context, path) => files[path],
    onLookup: (outcome) => void lookups.push(outcome),
    logger: silentLogger,
  });
  const ask = async ({ args = {}, tool: changed, context: given }: Asked = {}) => {
    const context: CallContext = {
      ...requestContext(),
      callId: mintCallId(true),
      sessionId: 'sess_a',
      priority: 'interactive',
      ...given,
    };
    await journal.plan(someCall({ id: context.callId }), { requestId: context.requestId });
    const asked = { ...tool, ...changed };
    const run = async () => {
      const outcome = await answer((runs += 1));
      await journal.end({ requestId: 'req_1', callId: context.callId, outcome });
      return outcome;
    };
    const call = runnableCall(asked, args, context);
    const outcome = await kept.answer(call, run);
    return { outcome, stored: await journal.get(context.callId) };
  };
  return { ask, lookups, runs: () => runs };
}

const text = (nth: number): ToolOutcome => ({
  state: 'completed',
  blocks: [{ type: 'text', text: `answer ${nth}` }],
  durationMs: 7,
  queueWaitMs: 3,
});

verifies('tools.results-kept', 'answered, shown as kept, journaled and audited', async () => {
  const { ask, lookups, runs } = openRunner();
  const args = { q: 'kept' };
  expect((await ask({ args })).outcome).toMatchObject({ blocks: [{ text: 'answer 1' }], queueWaitMs: 3 });
  // Kept while nobody waits for it.
  await expect.poll(async () => (await ask({ args })).outcome.cached, { timeout: 10_000 }).toBe(true);
  const before = runs();
  const { outcome, stored } = await ask({ args: { q: 'kept' }, context: { sessionId: 'sess_b' } });
  expect(outcome).toMatchObject({ cached: true, state: 'completed' });
  expect(outcome.queueWaitMs).toBeUndefined();
  expect(stored).toMatchObject({ state: 'completed', outcome: { cached: true } });
  const audit = 'select success, cached, state from audit_events where call_id = $1';
  expect(await services.rows(audit, [stored!.id])).toEqual([{ success: true, cached: true, state: 'completed' }]);
  expect(runs()).toBe(before);
  expect(lookups.at(-1)).toBe('hit');
});

verifies(
  'tools.results-kept',
  'never for other arguments, principals, definitions, sessions of a server that has some',
  async () => {
    const { ask, runs } = openRunner();
    const base = { args: { q: 'own' } };
    await ask(base);
    await expect.poll(async () => (await ask(base)).outcome.cached, { timeout: 10_000 }).toBe(true);
    const before = runs();
    const others: Asked[] = [
      { args: { q: 'other' } },
      { ...base, context: { principal: 'someone else' } },
      { ...base, tool: { definitionHash: 'another' } },
      { ...base, tool: { server: 'other' } },
      { ...base, tool: { stateful: true } },
      { ...base, tool: { stateful: true }, context: { sessionId: 'sess_other' } },
      { ...base, context: { noCache: true } },
    ];
    for (const other of others) expect((await ask(other)).outcome.cached).toBeUndefined();
    expect(runs()).toBe(before + others.length);
  },
);

verifies('tools.results-kept', 'not marked, failed, shortened, over in time', async () => {
  const answers: ToolOutcome[] = [
    failedOutcome('failed', 'tool_failed', 'no'),
    { ...text(2), truncated: true },
    text(3),
    text(4),
  ];
  const { ask } = openRunner((nth) => answers[nth - 1] ?? text(nth));
  const asked = { args: { q: 'short' }, tool: { cacheTtlMs: 1 } };
  for (let at = 0; at < 4; at += 1) {
    expect((await ask(asked)).outcome).toEqual(answers[at]);
    // Longer than the life of what was kept.
    await delay(20);
  }
  const unmarked = { args: { q: 'never' }, tool: { cacheTtlMs: undefined } } as unknown as Asked;
  const { ask: askPlain, lookups } = openRunner();
  for (let nth = 1; nth <= 2; nth += 1) expect((await askPlain(unmarked)).outcome.cached).toBeUndefined();
  expect(lookups).toEqual([]);
});

verifies('tools.results-kept', 'equal calls at once run once; a failure answers nobody else', async () => {
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const { ask, runs } = openRunner(async (nth) => {
    await released;
    return nth === 1 ? text(1) : failedOutcome('failed', 'tool_failed', 'no');
  });
  const all = Promise.all(Array.from({ length: 6 }, () => ask({ args: { q: 'at once' } })));
  await expect.poll(runs, { timeout: 10_000 }).toBe(1);
  const gone = AbortSignal.abort(new Error('gone'));
  const aborted = ask({ args: { q: 'at once' }, context: { signal: gone } });
  release();
  expect((await aborted).outcome.error?.code).toBe('tool_failed');
  const reported = (await all).map(({ outcome }) => [outcome.state, outcome.cached]);
  expect(reported.filter(([, cached]) => cached === true)).toHaveLength(5);
  expect(runs()).toBe(2);
});

verifies('tools.results-kept', 'of a file only as long as it is the same file', async () => {
  const files: Record<string, string> = { 'a.txt': 'one' };
  const { ask, runs } = openRunner(text, files);
  const read = (path: string) => ask({ args: { path }, tool: { readsFile: 'path', server: 'files' } });
  await read('a.txt');
  await expect.poll(async () => (await read('a.txt')).outcome.cached, { timeout: 10_000 }).toBe(true);
  const before = runs();
  files['a.txt'] = 'two';
  expect((await read('a.txt')).outcome.cached).toBeUndefined();
  for (let again = 0; again < 2; again += 1) expect((await read('missing.txt')).outcome.cached).toBeUndefined();
  expect(runs()).toBe(before + 3);
});
