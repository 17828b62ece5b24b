// What an answer costs by the price of its model, as the gateway counts it.
import type { ModelsHealth, PricedModel, Usage } from '@signalbox/client';

/**
 * `asked`: as the test named it. An alias and a bare name are found by the model that answered, as far as the answer names it.
 * Undefined: the model is not in the report.
 */
export function priceOf(
  { models }: ModelsHealth,
  asked: string,
  answeredBy: string | undefined,
): PricedModel['price'] | undefined {
  const exact = models.find(({ model }) => model === asked);
  return (exact ?? models.find(({ model }) => model === answeredBy || model.endsWith(`/${answeredBy}`)))?.price;
}

export function costOf(price: NonNullable<PricedModel['price']>, usage: Usage): number {
  const { prompt_tokens_details: details = {} } = usage as Usage & { prompt_tokens_details?: Record<string, unknown> };
  const detail = (name: string) => (typeof details[name] === 'number' ? details[name] : 0);
  const cached = Math.min(usage.prompt_tokens, detail('cached_tokens'));
  const written = Math.min(usage.prompt_tokens - cached, detail('cache_creation_tokens'));
  const plain = usage.prompt_tokens - cached - written;
  const input = plain * price.input + cached * (price.cached_input ?? price.input);
  return (input + written * (price.cache_write ?? price.input) + usage.completion_tokens * price.output) / 1_000_000;
}
