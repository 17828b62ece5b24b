// Opens what limits and charges callers: rates, budgets, prices, and the stored usage.
import { readPriceTable } from '#libs/config/price-table.js';
import type { Config } from '#libs/config/schema.js';
import type { Counters } from '#libs/backing/counters.js';
import { Rates } from '#libs/limits/rates.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { StoreWrites } from '#libs/runs/store-writes.js';
import { Budgets } from '#libs/usage/budgets.js';
import { Prices } from '#libs/usage/prices.js';
import { UsageMeter } from '#libs/usage/usage-meter.js';
import { UsageStore } from '#libs/usage/usage-store.js';
import { Traffic } from '#libs/usage/traffic.js';
import { UsageAccounts } from './usage-accounts.js';

export interface UsageParts {
  gatewayId: string;
  database: Pick<Database, 'query'>;
  writes: Pick<StoreWrites, 'submit'>;
  counters: Counters;
  config: Pick<Config, 'models' | 'limits' | 'budgets'>;
  metrics: Metrics;
  logger: Logger;
}

export function openUsage({ gatewayId, database, writes, counters, config, metrics, logger }: UsageParts) {
  const { models, limits, budgets: settings } = config;
  const meter = new UsageMeter({ writes, logger, onDropped: () => metrics.usageDropped.inc() });
  const store = new UsageStore(database);
  const budgets = new Budgets({ store, flush: () => meter.flush(), settings, logger });
  const rates = new Rates({ counters, logger });
  const prices = new Prices(models.prices, readPriceTable());
  const traffic = new Traffic({ database, gatewayId, logger });
  const accounts = new UsageAccounts({ meter, prices, budgets, rates, limits, metrics, traffic, logger });
  return {
    meter,
    prices,
    store,
    traffic,
    budgets,
    rates,
    accounts,
    /** Writes the usage so far. */
    close: async () => void (await Promise.all([meter.close(), traffic.close(), budgets.close(), rates.close()])),
  };
}
