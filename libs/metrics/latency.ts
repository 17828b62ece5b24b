// A histogram of durations. With exemplars each bucket names the last trace that fell into it, which only the format of
// OpenMetrics can show.
import type { Histogram, LabelValues } from 'prom-client';

export class Latency<Label extends string> {
  constructor(
    private readonly histogram: Histogram<Label>,
    private readonly exemplars: boolean,
  ) {}

  observe(labels: LabelValues<Label>, seconds: number, traceparent: string | undefined): void {
    if (!this.exemplars) return this.histogram.observe(labels, seconds);
    const traceId = sampledTrace.exec(traceparent ?? '')?.[1];
    // Its type takes the labels of an exemplar for those of the histogram.
    const exemplarLabels = (traceId === undefined ? {} : { trace_id: traceId }) as LabelValues<Label>;
    this.histogram.observe({ labels, value: seconds, exemplarLabels });
  }
}

/** A collector has no other. */
const sampledTrace = /^..-(.{32})-.{16}-.[13579bdf]/;
