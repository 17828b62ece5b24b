// The metrics of Chimech, declared once. Labels are names of its own tools and codes.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const ownBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1];

export type ChimechMetrics = ReturnType<typeof createChimechMetrics>;

export interface ChimechMetricsOptions {
  rotationDue?: () => boolean;
  /** Asked at a scrape; undefined where there is no knowledge base, or none that answers. */
  kbDocuments?: () => Promise<number | undefined>;
  processMetrics?: boolean;
}

export function createChimechMetrics({
  rotationDue = () => false,
  kbDocuments = () => Promise.resolve(undefined),
  processMetrics,
}: ChimechMetricsOptions = {}) {
  const registry = new Registry();
  if (processMetrics !== false) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    rotationDue: new Gauge({
      name: 'chimech_api_key_rotation_due',
      help: '1 if the keys of Chimech are older than API_KEY_ROTATION_DAYS',
      registers,
      collect() {
        this.set(rotationDue() ? 1 : 0);
      },
    }),
    kbDocuments: new Gauge({
      name: 'chimech_kb_documents',
      help: 'Documents of the knowledge base',
      registers,
      async collect() {
        const documents = await kbDocuments();
        if (documents !== undefined) this.set(documents);
      },
    }),
    toolCalls: new Counter({
      name: 'chimech_tool_calls_total',
      help: 'Tool calls of Chimech; `code` is its error code, empty unless `outcome` is `error`',
      labelNames: ['tool', 'outcome', 'code'] as const,
      registers,
    }),
    toolDuration: new Histogram({
      name: 'chimech_tool_duration_seconds',
      help: 'Duration of a tool call of Chimech',
      labelNames: ['tool'] as const,
      buckets,
      registers,
    }),
    overhead: new Histogram({
      name: 'chimech_overhead_seconds',
      help: 'Time of a call in Chimech itself: total minus the time of the gateway',
      labelNames: ['tool'] as const,
      buckets: ownBuckets,
      registers,
    }),
    tokens: new Counter({
      name: 'chimech_tokens_total',
      help: 'Tokens used by Chimech, as counted by the gateway',
      registers,
    }),
    rateLimited: new Counter({
      name: 'chimech_rate_limited_total',
      help: 'Connections, sessions and requests that Chimech refused by a limit',
      labelNames: ['limit'] as const,
      registers,
    }),
  };
}
