// What is known of the models, in the words of the API. Pure.
import type { Prices } from '#libs/usage/prices.js';
import type { UsageRow } from '#libs/usage/usage-store.js';
import type { CallFigures } from '../../models/routing/call-history.js';
import type { AliasReport, ModelsReport, ProviderReport } from '../../models/routing/models-report.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { modelsHealth, pricedModel, shownAlias, shownProvider } from '../openapi/system-shapes.js';

type ShownHealth = Shown<typeof modelsHealth>;
type PricedModel = Shown<typeof pricedModel>;

const shownNames = 500;
const shownModels = 1_000;

export const showModelsReport = (
  report: ModelsReport,
): Pick<ShownHealth, 'counted_since' | 'default_model' | 'problems' | 'providers' | 'aliases'> => ({
  counted_since: report.countedSince.toISOString(),
  default_model: report.model,
  problems: [...report.problems],
  providers: report.providers.map(showProvider),
  aliases: report.aliases.map(showAlias),
});

/** Those that were used, the most expensive first, then those that the configuration names. */
export function pricedModels(
  { model, providers, aliases }: ModelsReport,
  used: readonly UsageRow[],
  prices: Pick<Prices, 'priceOf'>,
): PricedModel[] {
  const listed = providers.flatMap(({ name, models: { source, names } }) =>
    source === 'provider' ? [] : names.map((each) => `${name}/${each}`),
  );
  const named = [
    model,
    ...aliases.flatMap(({ targets, problem }) => (problem === undefined ? targets : [])),
    ...listed,
  ].filter((name) => name.includes('/'));
  const sums = new Map(used.flatMap((row) => (row.model == null ? [] : [[row.model, row] as const])));
  const byCost = [...sums.keys()].sort((one, other) => sums.get(other)!.cost_usd - sums.get(one)!.cost_usd);
  return [...new Set([...byCost, ...named])].slice(0, shownModels).map((name) => {
    const slash = name.indexOf('/');
    const [provider, upstream] = [name.slice(0, slash), name.slice(slash + 1)];
    const price = prices.priceOf(provider, upstream);
    const sum = sums.get(name);
    return {
      model: name,
      requests: sum?.requests ?? 0,
      prompt_tokens: sum?.prompt_tokens ?? 0,
      completion_tokens: sum?.completion_tokens ?? 0,
      cost_usd: sum?.cost_usd ?? 0,
      price: price === undefined ? null : { cached_input: null, cache_write: null, ...price },
    };
  });
}

function showProvider(report: ProviderReport): Shown<typeof shownProvider> {
  const { name, kind, tools, access, problem, circuit, models, lastHour, lastDay, hours, lastFailure } = report;
  const { names, source, listedAt } = models;
  return {
    name,
    kind,
    address: access?.origin ?? null,
    has_key: access?.hasKey ?? false,
    key_from: access?.sources.key ?? null,
    address_from: access?.sources.address ?? null,
    tools,
    problem: problem ?? null,
    circuit: circuit === undefined ? null : { state: circuit.state, since: circuit.since.toISOString() },
    models: {
      source,
      count: names.length,
      names: names.slice(0, shownNames),
      listed_at: listedAt?.toISOString() ?? null,
    },
    last_hour: showFigures(lastHour),
    last_day: showFigures(lastDay),
    hours: hours.map(({ hour, figures: { calls, failed, p95Ms } }) => {
      return { hour: hour.toISOString(), calls, failed, p95_ms: p95Ms ?? null };
    }),
    last_error:
      lastFailure === undefined
        ? null
        : {
            at: lastFailure.at.toISOString(),
            model: lastFailure.model,
            code: lastFailure.code,
            message: lastFailure.message,
            upstream_status: lastFailure.upstreamStatus ?? null,
          },
  };
}

const showFigures = (figures: CallFigures) => ({
  calls: figures.calls,
  failed: figures.failed,
  errors: figures.errors,
  p50_ms: figures.p50Ms ?? null,
  p95_ms: figures.p95Ms ?? null,
  first_token_p50_ms: figures.firstPartP50Ms ?? null,
  first_token_p95_ms: figures.firstPartP95Ms ?? null,
});

const showAlias = ({ name, targets, problem, fallbacks }: AliasReport): Shown<typeof shownAlias> => ({
  name,
  targets,
  problem: problem ?? null,
  fallbacks: fallbacks.map(({ from, to, count, lastAt, code, message }) => {
    return { from, to, count, last_at: lastAt.toISOString(), code, message };
  }),
});
