// The answers of the routes for those who run Signalbox: how its models do, and its settings.
import { z } from 'zod';
import { circuitStates } from '#libs/concurrency/circuit-breaker.js';
import { providerSchema } from '#libs/config/schema.js';
import { named } from './open-api-shapes.js';

const text = z.string();
const count = z.int();
const ms = z.number();
const time = text.meta({ format: 'date-time' });
const usd = z.number();

const callFigures = named('ModelCallFigures', {
  calls: count.describe('Calls that ended, without those that their callers left'),
  failed: count,
  errors: z.array(z.object({ code: text, count })).describe('How many failed with each code, the most frequent first'),
  p50_ms: ms.nullable().describe('Half of the answers took at most this long, to within a fifth; null without answers'),
  p95_ms: ms.nullable(),
  first_token_p50_ms: ms.nullable().describe('The same until the first part of streamed answers'),
  first_token_p95_ms: ms.nullable(),
});

export const shownProvider = named('ModelProvider', {
  name: text,
  kind: providerSchema.shape.kind.describe('`offline`: the model inside, which needs no address'),
  address: text.nullable().describe('Scheme, host and port'),
  has_key: z.boolean().describe('Whether a key or headers are sent'),
  key_from: text.nullable().describe('The variable or setting that the key is from, or would be from'),
  address_from: text.nullable(),
  tools: z.enum(['native', 'prompted', 'none']),
  problem: text.nullable().describe('Why it cannot be used, and what to do'),
  circuit: z
    .object({ state: z.enum(circuitStates), since: time })
    .nullable()
    .describe('`open`: it failed repeatedly and is not called for a while'),
  models: z.object({
    source: z.enum(['configuration', 'provider', 'built_in']).describe('Where the names are from'),
    count,
    names: z.array(text).describe('The first 500'),
    listed_at: time.nullable().describe('When the provider last gave its list'),
  }),
  last_hour: callFigures,
  last_day: callFigures,
  hours: z
    .array(z.object({ hour: time, calls: count, failed: count, p95_ms: ms.nullable() }))
    .describe('The last 24 hours, oldest first, the present one last'),
  last_error: z
    .object({
      at: time,
      model: text,
      code: text,
      message: text,
      upstream_status: count.nullable().describe('What the provider answered; null without an answer'),
    })
    .nullable()
    .describe('The last failed call, also if others have succeeded since'),
});

export const shownAlias = named('ModelAlias', {
  name: text,
  targets: z.array(text).describe('`provider/model`, in the order in which they are tried'),
  problem: text.nullable().describe('Why it leads to no model'),
  fallbacks: z.array(
    z.object({ from: text, to: text, count, last_at: time, code: text, message: text.describe('Why, the last time') }),
  ),
});

export const pricedModel = named('PricedModel', {
  model: text.describe('`provider/model`'),
  requests: count.describe('Of the last 30 days, by all gateways'),
  prompt_tokens: count,
  completion_tokens: count,
  cost_usd: usd,
  price: z
    .object({
      input: usd,
      output: usd,
      cached_input: usd.nullable().describe('Null: as input'),
      cache_write: usd.nullable().describe('Null: as input'),
    })
    .nullable()
    .describe('USD per million tokens; null: unknown, so that the model costs nothing'),
});

export const modelsHealth = named('ModelsHealth', {
  at: time,
  gateway: text.describe('The gateway that answers. Providers and aliases are as this one has seen them'),
  gateways: count.describe('How many gateways run'),
  counted_since: time.describe('When this gateway began to count calls'),
  default_model: text.describe('The model of requests that name none'),
  problems: z.array(text).describe('Names in the configuration that lead to no model'),
  providers: z.array(shownProvider).describe('In the order of the configuration, the offline model last'),
  aliases: z.array(shownAlias),
  models: z.array(pricedModel).describe('Models that were used in the last 30 days, or that the configuration names'),
});

export const shownSetting = named('Setting', {
  key: text.describe('As in signalbox.yaml: `server.port`'),
  group: text.describe('The first part of the key'),
  value: z
    .unknown()
    .describe(
      'Null: not set. A secret is `set` or `not set`; addresses are without credentials, paths without directories',
    ),
  secret: z.boolean(),
  origin: z.enum(['default', 'file', 'env_file', 'environment']).describe('`env_file`: a variable in .env'),
  source: text.nullable().describe('The variable, or the file and its line'),
  variable: text.nullable().describe('The variable that sets it'),
  default: z.unknown(),
  meaning: text,
});

export const settingsAnswer = named('Settings', {
  gateway: text.describe('The gateway that answers'),
  settings: z.array(shownSetting),
  warnings: z.array(
    z.object({
      setting: text.nullable(),
      code: z.enum(['misnamed_model', 'needs_restart', 'not_applied']),
      message: text,
    }),
  ),
  versions: z.object({
    signalbox: text,
    node: text,
    postgresql: text,
    redis: text.nullable().describe('Null: the queue is in PostgreSQL'),
    mcp: z.array(text).describe('Revisions of the protocol at `/mcp`, the newest first'),
  }),
  health: z.object({
    status: text,
    checks: z.array(z.object({ name: text, status: z.enum(['ok', 'degraded', 'down']), reason: text.nullable() })),
  }),
});
