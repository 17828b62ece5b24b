// Charges model calls and counts tool calls: in the stored usage, the caller's budget and rates, and the metrics. A request is
// counted with the first model call of its turn, or as the tool call that it is.
import { rateIdOf, rateLimitsOf, type RateSettings } from '#libs/limits/rate-limits.js';
import type { Rates } from '#libs/limits/rates.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { Usage } from '#libs/schemas/usage.js';
import type { Budgets } from '#libs/usage/budgets.js';
import { type Prices, tokenCount } from '#libs/usage/prices.js';
import type { Traffic } from '#libs/usage/traffic.js';
import type { Used, UsageMeter } from '#libs/usage/usage-meter.js';
import type { ModelCall } from '../models/model-provider.js';

/** A model call that has ended, in whatever way. */
export interface EndedModelCall {
  provider: string;
  model: string;
  outcome: string;
  usage: Usage | undefined;
  replaced: readonly { provider: string; model: string; usage: Usage }[];
  call: Pick<ModelCall, 'paidBy'>;
}

export interface UsageAccountsParts {
  meter: Pick<UsageMeter, 'add' | 'flushSoon'>;
  prices: Pick<Prices, 'nanoUsdOf'>;
  budgets: Pick<Budgets, 'add' | 'hasBudget'>;
  rates: Pick<Rates, 'addTokens'>;
  limits: RateSettings;
  metrics: Metrics;
  /** The last hours, for the overview. */
  traffic?: Pick<Traffic, 'turn' | 'call' | 'cost'> | undefined;
  logger: Logger;
}

type CountedTool = Pick<CatalogTool, 'server' | 'tool'>;
type Payer = NonNullable<ModelCall['paidBy']>;

const noTokens = { promptTokens: 0, completionTokens: 0, nanoUsd: 0 };
const maxWarned = 1_000;

export class UsageAccounts {
  private readonly warned = new Set<string>();

  constructor(private readonly parts: UsageAccountsParts) {}

  modelCall({ provider, model, outcome, usage, replaced, call: { paidBy } }: EndedModelCall): void {
    if (paidBy === undefined) return;
    for (const each of replaced) this.charge(paidBy, each, 0);
    const requests = paidBy.round === 1 ? 1 : 0;
    if (usage !== undefined) return this.charge(paidBy, { provider, model, usage }, requests);
    if (requests === 0) return;
    // The name of a model that never answered may be anything.
    const name = outcome === 'ok' ? `${provider}/${model}` : '';
    this.add(paidBy, { model: name, tool: '', requests, calls: 0, ...noTokens });
  }

  /** Counts a tool call when it runs: in a worker, from the cache, or in the gateway itself. */
  toolCall(context: Pick<CallContext, 'principal' | 'keyId' | 'runId'>, { server, tool }: CountedTool): void {
    const requests = context.runId === undefined ? 1 : 0;
    this.add(context, { model: '', tool: `${server}/${tool}`, requests, calls: 1, ...noTokens });
  }

  /** Counts the end of a tool call. */
  toolCallEnded(
    context: Pick<CallContext, 'principal' | 'keyId'>,
    { server, tool }: CountedTool,
    failed: boolean,
  ): void {
    this.parts.traffic?.call(context.principal, failed);
    if (!failed) return;
    this.add(context, { model: '', tool: `${server}/${tool}`, requests: 0, calls: 0, failures: 1, ...noTokens });
  }

  turnEnded({ principal }: Pick<CallContext, 'principal'>, tookMs: number): void {
    this.parts.traffic?.turn(principal, tookMs);
  }

  private charge(
    paidBy: Payer,
    { provider, model, usage }: EndedModelCall['replaced'][number],
    requests: number,
  ): void {
    const { meter, prices, budgets, rates, limits, metrics, traffic } = this.parts;
    const cost = prices.nanoUsdOf(provider, model, usage);
    const nanoUsd = cost ?? 0;
    const promptTokens = tokenCount(usage.prompt_tokens);
    const completionTokens = tokenCount(usage.completion_tokens);
    const unpricedTokens = cost === undefined ? promptTokens + completionTokens : 0;
    const used = { requests, calls: 0, promptTokens, completionTokens, nanoUsd, unpricedTokens };
    this.add(paidBy, { model: `${provider}/${model}`, tool: '', ...used });
    traffic?.cost(paidBy.principal, nanoUsd);
    if (budgets.add(paidBy, nanoUsd)) meter.flushSoon();
    const rateLimits = rateLimitsOf(paidBy, limits);
    if (rateLimits !== undefined) rates.addTokens(rateIdOf(paidBy), rateLimits, promptTokens + completionTokens);
    const labels = { provider, model: metrics.models.label(model, true) };
    if (nanoUsd > 0) metrics.cost.inc(labels, nanoUsd / 1e9);
    if (cost !== undefined) return;
    metrics.modelCallsUnpriced.inc(labels);
    if (budgets.hasBudget(paidBy)) this.warn(`${provider}/${model}`);
  }

  private add({ principal, keyId }: Pick<Payer, 'principal' | 'keyId'>, used: Omit<Used, 'principal' | 'keyId'>): void {
    this.parts.meter.add({ keyId, principal, ...used });
  }

  private warn(model: string): void {
    if (this.warned.has(model) || this.warned.size >= maxWarned) return;
    this.warned.add(model);
    this.parts.logger.warn({ metadata: { model } }, 'a model without a price is used under a budget: it costs nothing');
  }
}
