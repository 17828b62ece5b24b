// One scrape: the gauges looked up, then the text of Prometheus.
import { collectGauges, type GaugeSources } from './collect-gauges.js';
import type { Metrics } from './metrics.js';

export class Scrape {
  constructor(
    private readonly metrics: Metrics,
    private readonly sources: GaugeSources,
  ) {}

  get contentType(): string {
    return this.metrics.registry.contentType;
  }

  async text(): Promise<string> {
    await collectGauges(this.metrics, this.sources);
    return this.metrics.registry.metrics();
  }
}
