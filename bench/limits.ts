// What rates and budgets add to a request: counting it, asking for the budget, and charging its model call, with 64 busy keys
// and the counters and usage in the real database. CPU time of this process, the driver's share included.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { openBacking } from '#libs/backing/open-backing.js';
import { readConfig } from '#libs/config/read-config.js';
import { Rates } from '#libs/limits/rates.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import type { StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { Budgets } from '#libs/usage/budgets.js';
import { Prices } from '#libs/usage/prices.js';
import { UsageMeter } from '#libs/usage/usage-meter.js';
import { UsageStore } from '#libs/usage/usage-store.js';
import { LimitRequests } from '../apps/gateway/http/admin/limit-requests.js';
import { UsageAccounts } from '../apps/gateway/usage/usage-accounts.js';
import type { System } from './system.js';

export const limitsScenario = 'limits and budget, 64 keys';

const keys = 64;
const perMinute = 600;
const goalMicros = 15;
const requestsAtOnce = 20;
const usage = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };

export async function measureLimits({ databaseUrl }: Pick<System, 'databaseUrl'>): Promise<void> {
  const closing: (() => unknown)[] = [];
  try {
    const database = openDatabase({ url: databaseUrl, poolSize: 8, timeoutMs: 30_000, applicationName: 'bench' });
    closing.push(() => database.close());
    const backing = await openBacking({ databaseUrl });
    closing.push(() => backing.close());
    const logger = silentLogger;
    const meter = new UsageMeter({ writes: new StoreWrites(database), logger, onDropped: () => undefined });
    const store = new UsageStore(database);
    const settings = { day_usd: 1_000_000 };
    const budgets = new Budgets({ store, flush: () => meter.flush(), settings, logger });
    const rates = new Rates({ counters: backing.counters, logger });
    closing.push(() => Promise.all([meter.close(), budgets.close(), rates.close()]));
    const { limits } = readConfig({ environment: {} });
    const prices = new Prices({ '*': { input: 1, output: 2 } }, {});
    const metrics = createMetrics({ processMetrics: false });
    const accounts = new UsageAccounts({ meter, prices, budgets, rates, limits, metrics, logger });
    const limit = new LimitRequests({ rates, limits, onRefused: () => undefined });

    const requestBy =
      (name: string) =>
      async (number: number): Promise<boolean> => {
        const { context, ...asked } = requestOf(`key_${name}_${number % keys}`);
        try {
          await limit.admit(asked as unknown as FastifyRequest, reply);
        } catch (error) {
          if (error instanceof AppError && error.code === 'rate_limit_exceeded') return false;
          throw error;
        }
        if ((await budgets.spentBy(context)) !== undefined) throw new Error('the budget is not used up');
        const call = { paidBy: { ...context, round: 1 } };
        accounts.modelCall({ provider: 'bench', model: 'm', outcome: 'ok', usage, replaced: [], call });
        return true;
      };
    // Of other keys: what has been done a few hundred times is still being compiled.
    await microsOf(requestBy('warm'), keys * perMinute * 2);
    const request = requestBy('bench');
    const served = await microsOf(request, keys * (perMinute - 100));
    const refused = await microsOf(request, keys * perMinute * 10);
    const admitted = served.admitted + refused.admitted;
    const exact = admitted === keys * perMinute ? 'exactly' : 'NOT';
    const met = served.micros <= goalMicros ? 'met' : 'missed';
    console.log(
      `${limitsScenario.padEnd(44)} request µs: ${served.micros.toFixed(2)} | refused request µs: ${refused.micros.toFixed(2)} | ` +
        `${admitted} admitted, ${exact} ${keys} × ${perMinute} | goal: ≤ ${goalMicros} µs: ${met}`,
    );
  } finally {
    for (const step of closing.reverse()) await step();
  }
}

async function microsOf(request: (number: number) => Promise<boolean>, count: number) {
  let admitted = 0;
  const before = process.cpuUsage();
  for (let number = 0; number < count; number += requestsAtOnce) {
    const size = Math.min(requestsAtOnce, count - number);
    const answers = await Promise.all(Array.from({ length: size }, (_, place) => request(number + place)));
    admitted += answers.filter(Boolean).length;
    // Requests come from the network, turn by turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(before);
  return { admitted, micros: (user + system) / count };
}

const reply = { header: () => reply } as unknown as FastifyReply;

/** As much of a request as the limits read. */
function requestOf(keyId: string) {
  const access = { roles: [], scopes: [], tools: {}, limits: {} };
  const context = { principal: 'bench', keyId, access } as unknown as StoppableContext;
  return { method: 'POST', routeOptions: { url: '/v1/chat/completions' }, signalboxContext: context, context };
}
