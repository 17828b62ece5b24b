// What the routes for those who run Signalbox need of its parts.
import type { Backing } from '#libs/backing/backing.js';
import type { Config } from '#libs/config/schema.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import type { Prices } from '#libs/usage/prices.js';
import type { UsageMeter } from '#libs/usage/usage-meter.js';
import type { UsageStore } from '#libs/usage/usage-store.js';
import type { ModelRouter } from '../../models/model-provider.js';

export interface SystemPorts {
  /** The id of this gateway. */
  id: string;
  models: Pick<ModelRouter, 'report'>;
  registry: Pick<ProcessRegistry, 'alive'>;
  usage: { meter: Pick<UsageMeter, 'flush'>; prices: Pick<Prices, 'priceOf'>; store: Pick<UsageStore, 'report'> };
  database: Pick<Database, 'query'>;
  backing: Pick<Backing, 'redisVersion'>;
}

export interface ConfigurationInForce {
  started: Config;
  /** The last one that was read, and from which the policy and the tool servers are. */
  latest(): Config;
}
