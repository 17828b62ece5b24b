// One scrape: who may have it, and its text. Anyone on this machine, else whoever shows METRICS_TOKEN.
import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '#libs/schemas/errors.js';
import { collectGauges, type GaugeSources } from './collect-gauges.js';
import type { Metrics } from './metrics.js';

export interface Scraper {
  /** Address of the connection. */
  address: string;
  /** True where a proxy says that it speaks for someone else: then the address says nothing. */
  forwarded: boolean;
  authorization: string | undefined;
}

export class Scrape {
  constructor(
    private readonly metrics: Metrics,
    private readonly sources: GaugeSources,
    private readonly token: string | undefined,
  ) {}

  get contentType(): string {
    return this.metrics.registry.contentType;
  }

  /** @throws AppError invalid_api_key, insufficient_scope */
  async text(scraper: Scraper): Promise<string> {
    this.admit(scraper);
    await collectGauges(this.metrics, this.sources);
    return this.metrics.registry.metrics();
  }

  private admit({ address, forwarded, authorization }: Scraper): void {
    if (!forwarded && isLoopbackAddress(address)) return;
    if (this.token === undefined) {
      throw new AppError('insufficient_scope', 'Metrics are for this machine only unless METRICS_TOKEN is set');
    }
    const given = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
    if (given === undefined || !same(given, this.token)) {
      throw new AppError('invalid_api_key', 'Metrics need the bearer token of METRICS_TOKEN');
    }
  }
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

/** Compared as hashes: takes the same time for every guess. */
function same(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}
