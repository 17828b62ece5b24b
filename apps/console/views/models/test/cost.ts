// What an answer costs by the price of its model, as the gateway counts it.
import type { ModelsHealth, PricedModel, Usage } from '@signalbox/client';

/** Undefined: the model is not in the report. */
export const priceOf = ({ models }: ModelsHealth, model: string): PricedModel['price'] | undefined =>
  (models.find((each) => each.model === model) ?? models.find((each) => each.model.endsWith(`/${model}`)))?.price;

export function costOf(price: NonNullable<PricedModel['price']>, usage: Usage): number {
  const { prompt_tokens_details: details = {} } = usage as Usage & { prompt_tokens_details?: Record<string, unknown> };
  const detail = (name: string) => (typeof details[name] === 'number' ? details[name] : 0);
  const cached = Math.min(usage.prompt_tokens, detail('cached_tokens'));
  const written = Math.min(usage.prompt_tokens - cached, detail('cache_creation_tokens'));
  const plain = usage.prompt_tokens - cached - written;
  const input = plain * price.input + cached * (price.cached_input ?? price.input);
  return (input + written * (price.cache_write ?? price.input) + usage.completion_tokens * price.output) / 1_000_000;
}
