// The prices of models that come with Signalbox (config/prices.yaml), and the form of a price.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { installedPath } from '#libs/process/find-installed.js';

const usd = (description: string) => z.number().min(0).describe(`${description}, USD per million`);

export const priceSchema = z.strictObject({
  input: usd('Input tokens'),
  output: usd('Output tokens'),
  cached_input: usd('Input tokens that were read from the cache; absent: as input').optional(),
  cache_write: usd('Input tokens that were written to the cache; absent: as input').optional(),
});

export type Price = z.output<typeof priceSchema>;

const tableSchema = z.strictObject({ prices: z.record(z.string(), priceSchema) });

/** Prices by globs of models, as in `models.prices`. @throws Error if the file is missing or wrong */
export function readPriceTable(): Record<string, Price> {
  return tableSchema.parse(parse(readFileSync(installedPath('config/prices.yaml'), 'utf8'))).prices;
}
