// The cost of a model call, by the prices of the configuration and, where it has none, of config/prices.yaml.
import type { Price } from '#libs/config/price-table.js';
import { starMatcher } from '#libs/policy/tool-glob.js';
import { usageDetail, type Usage } from '#libs/schemas/usage.js';

interface PricedNames {
  matches: (name: string) => boolean;
  price: Price;
}

/** Callers may name any model. */
const maxRemembered = 1_000;

export class Prices {
  /** The table of the configuration first, in it the longest pattern first. */
  private readonly tables: readonly PricedNames[][];
  private readonly remembered = new Map<string, Price | undefined>();

  constructor(configured: Record<string, Price>, table: Record<string, Price>) {
    this.tables = [configured, table].map((prices) =>
      Object.entries(prices)
        .sort(([left], [right]) => right.length - left.length)
        .map(([glob, price]) => ({ matches: starMatcher(glob), price })),
    );
  }

  /** Billionths of a dollar, which keeps the price of a single token whole; undefined: the model has no price. */
  nanoUsdOf(provider: string, model: string, usage: Usage): number | undefined {
    const price = this.priceOf(provider, model);
    if (price === undefined) return undefined;
    const prompt = tokenCount(usage.prompt_tokens);
    const detail = (name: string) => tokenCount(usageDetail(usage, 'prompt_tokens_details', name));
    const cached = Math.min(prompt, detail('cached_tokens'));
    const written = Math.min(prompt - cached, detail('cache_creation_tokens'));
    const { input, output, cached_input = input, cache_write = input } = price;
    const microUsd =
      (prompt - cached - written) * input +
      cached * cached_input +
      written * cache_write +
      tokenCount(usage.completion_tokens) * output;
    return Math.round(microUsd * 1_000);
  }

  /** In dollars for a million tokens. */
  priceOf(provider: string, model: string): Price | undefined {
    const name = `${provider}/${model}`;
    if (this.remembered.has(name)) return this.remembered.get(name);
    if (this.remembered.size >= maxRemembered) this.remembered.clear();
    const fits = ({ matches }: PricedNames) => matches(name) || matches(model);
    const found = this.tables.map((table) => table.find(fits)).find((each) => each !== undefined);
    this.remembered.set(name, found?.price);
    return found?.price;
  }
}

/** Providers may send anything. */
export function tokenCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
