// What a PromQL query asks for: metrics and labels, read with Prometheus's own grammar, and the metrics that the code
// exports to compare them with.
import { parser } from '@prometheus-io/lezer-promql';
import type { Registry } from 'prom-client';
import { createChimechMetrics } from '#libs/metrics/chimech-metrics.js';
import { createMetrics } from '#libs/metrics/metrics.js';

export interface Exported {
  labels: readonly string[];
}

/** Made by Prometheus, or added to every series by whoever scrapes it. */
const scraped = ['job', 'instance', 'namespace'];

/** Every series of a process of ours, by the name that a query asks for. */
export async function exportedMetrics(): Promise<Map<string, Exported>> {
  const exported = new Map<string, Exported>([['up', { labels: [] }]]);
  for (const { registry } of [createMetrics(), createChimechMetrics()]) await addMetrics(registry, exported);
  return exported;
}

async function addMetrics(registry: Registry, exported: Map<string, Exported>): Promise<void> {
  const types = new Map((await registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]));
  const metrics = registry.getMetricsAsArray() as unknown as { name: string; labelNames?: string[] }[];
  for (const { name, labelNames = [] } of metrics) {
    const labels = labelNames.filter((label) => label !== 'le');
    if (types.get(name) === 'histogram') {
      exported.set(`${name}_bucket`, { labels: [...labels, 'le'] });
      for (const end of ['sum', 'count']) exported.set(`${name}_${end}`, { labels });
    } else {
      exported.set(name, { labels });
    }
  }
}

/** Names of metrics and labels in a query that no process exports, and what is no PromQL at all. */
export function problemsOf(query: string, exported: ReadonlyMap<string, Exported>): string[] {
  const text = atOneInterval(query);
  const problems: string[] = [];
  const metrics: string[] = [];
  const labels: string[] = [];
  parser.parse(text).iterate({
    enter({ name, from, to, type, node }) {
      const word = text.slice(from, to);
      if (type.isError) problems.push(`no PromQL near "${text.slice(from, from + 20)}"`);
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') metrics.push(word);
      if (name === 'LabelName') labels.push(word);
    },
  });
  if (metrics.length === 0) problems.push('asks for no metric');
  const known = new Set([...scraped, ...metrics.flatMap((metric) => exported.get(metric)?.labels ?? [])]);
  for (const metric of metrics) if (!exported.has(metric)) problems.push(`no metric ${metric}`);
  for (const label of labels) if (!known.has(label)) problems.push(`no label ${label}`);
  return problems;
}

/** Grafana's own variable, as Prometheus can read it. */
export const atOneInterval = (query: string): string => query.replaceAll('$__rate_interval', '5m');
