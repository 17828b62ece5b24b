// Every metric of a process, declared once. Labels come from the error table or from bounded sets, never from a caller.
// Wrappers on ports and taps on event streams count, never statements inside the loop.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type LabelValues } from 'prom-client';
import { droppedLines } from '#libs/logging/bounded-output.js';
import { AppError, errorTable, toAppError, type ErrorCode } from '#libs/schemas/errors.js';
import { changeGrades, changeOutcomes } from '#libs/schemas/tool-change.js';
import { BoundedLabels } from './bounded-labels.js';

const turnBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const callBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600];
const ownBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

const maxModels = 200;
const maxTools = 1_000;

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * `processMetrics: false` leaves Node's own out, for processes that make more than one registry. `exemplars`: latencies name
 * traces, and the format is that of OpenMetrics.
 */
export function createMetrics({ processMetrics = true, exemplars = false } = {}) {
  const registry = new Registry();
  // The type of a registry has its format, which is chosen here.
  if (exemplars) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `signalbox_${name}`, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `signalbox_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `signalbox_${name}`, help, buckets, registers });
  const latency = <Of extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Of[] = [],
  ) => {
    const timed = { name: `signalbox_${name}`, help, labelNames, buckets, registers };
    return new Latency(new Histogram({ ...timed, enableExemplars: exemplars }), exemplars);
  };

  const errors = counter('errors_total', 'Errors shown to a caller or a model', ['type', 'code']);
  // From the first scrape on, so that an alert on a rate sees the first error.
  for (const [code, { type }] of Object.entries(errorTable)) errors.inc({ type, code }, 0);
  const configReloads = counter('config_reloads_total', 'Reloads of the configuration', ['outcome']);
  for (const outcome of ['applied', 'unchanged', 'rejected']) configReloads.inc({ outcome }, 0);
  const policyDecisions = counter('policy_decisions_total', 'Tool calls that the policy decided', ['effect']);
  for (const effect of ['allow', 'deny', 'require_approval']) policyDecisions.inc({ effect }, 0);
  const toolChanges = counter('tool_changes_total', 'Changed tool definitions, by grade and outcome', [
    'grade',
    'outcome',
  ]);
  for (const grade of changeGrades) for (const outcome of changeOutcomes) toolChanges.inc({ grade, outcome }, 0);
  const traceSpansDropped = counter('trace_spans_dropped_total', 'Spans that could not be sent to the collector', [
    'reason',
  ]);
  for (const reason of ['queue_full', 'export_failed']) traceSpansDropped.inc({ reason }, 0);
  const counted = new WeakSet<object>();

  const approvalsPending = gauge('approvals_pending', 'Calls waiting for a person');
  approvalsPending.set(0);
  // Gauges that a process has only if it knows the value: without labels they would begin at 0.
  const auditBroken = gauge('audit_broken', '1 if the latest rows or checkpoints of the audit failed verification');
  const issuerKeysReadAt = gauge(
    'issuer_keys_read_timestamp_seconds',
    'When the keys of the OIDC issuer (JWKS) were last read; 0: never',
  );
  for (const known of [auditBroken, issuerKeysReadAt]) known.remove();
  const approvals = counter('approvals_total', 'Calls that needed an approval, by final state', ['state']);
  for (const state of ['approved', 'denied', 'expired', 'cancelled']) approvals.inc({ state }, 0);
  const approvalNotices = counter('approval_notices_total', 'Attempts to notify the webhook of a waiting call', [
    'outcome',
  ]);
  for (const outcome of ['delivered', 'failed']) approvalNotices.inc({ outcome }, 0);

  const samplings = counter('samplings_total', 'Requests of tool servers to models (MCP sampling), by outcome', [
    'outcome',
  ]);
  for (const outcome of ['ok', 'cancelled', 'model_forbidden']) samplings.inc({ outcome }, 0);

  return {
    registry,
    chatRequests: counter('chat_requests_total', 'Chat turns', ['dialect', 'stream', 'model', 'outcome']),
    chatRequestsWithTools: counter('chat_requests_with_tools_total', 'Chat turns in which a tool was called'),
    chatDuration: latency('chat_duration_seconds', 'Duration of a chat turn, from request to end', turnBuckets),
    chatTimeToFirstToken: latency(
      'chat_time_to_first_token_seconds',
      'Time from the request to the first piece of an answer',
      turnBuckets,
    ),
    chatRounds: histogram('chat_rounds', 'Model calls of a turn', [1, 2, 3, 4, 5, 6, 8, 10, 15, 20]),
    chatStopped: counter('chat_stopped_total', 'Chat turns that reached a limit and ended with a last answer', ['by']),
    gatewayOverhead: histogram(
      'gateway_overhead_seconds',
      'Time of a turn in the gateway itself: total minus model and tool time',
      ownBuckets,
    ),
    modelCalls: counter('model_calls_total', 'Model calls', ['provider', 'model', 'outcome']),
    modelCallDuration: latency(
      'model_call_duration_seconds',
      'Duration of a model call, from request to end',
      turnBuckets,
      ['provider', 'model'],
    ),
    modelAttemptsFailed: counter('model_attempts_failed_total', 'Failed attempts that were retried', [
      'provider',
      'code',
      'next',
    ]),
    modelCircuit: gauge('model_circuit', '1 for the current state of the circuit breaker of a provider', [
      'provider',
      'state',
    ]),
    tokens: counter('tokens_total', 'Tokens, as counted by the providers', ['provider', 'model', 'kind']),
    cost: counter('cost_usd_total', 'Cost of model calls, by the price table', ['provider', 'model']),
    modelCallsUnpriced: counter(
      'model_calls_unpriced_total',
      'Model calls counted as free because they have no price',
      ['provider', 'model'],
    ),
    usageDropped: counter(
      'usage_dropped_total',
      'Uses that were not counted: too many sums were waiting for the database',
    ),
    toolCalls: counter('tool_calls_total', 'Tool calls', ['server', 'tool', 'outcome']),
    toolDuration: latency('tool_duration_seconds', 'Duration of a tool call in its worker', callBuckets, [
      'server',
      'tool',
    ]),
    toolCancelsDropped: counter(
      'tool_cancels_dropped_total',
      'Refused tool calls whose end was never journaled: too many at once, or the gateway had stopped',
    ),
    toolCache: counter('tool_cache_total', 'Calls of tools whose results may be cached', ['outcome']),
    toolQueueWait: latency('tool_queue_wait_seconds', 'Time from queuing a call to its start in a worker', callBuckets),
    errors,
    traceSpansDropped,
    rateLimited: counter('rate_limited_total', 'Requests and calls refused by a limit', ['limit']),
    queueJobs: gauge('queue_jobs', 'Jobs in the queue', ['state']),
    queueOldestJobAge: gauge('queue_oldest_job_age_seconds', 'Age of the oldest waiting job'),
    mcpSessionsEvicted: counter('mcp_sessions_evicted_total', 'MCP sessions closed to make room for another'),
    mcpServers: gauge('mcp_servers', 'Tool servers', ['state']),
    mcpProcesses: gauge('mcp_processes', 'Processes of tool servers'),
    isolationLevel: gauge(
      'isolation_level',
      'Isolation of command servers: 0 none, 1 process, 2 confined, 3 namespace',
      ['server'],
    ),
    serversBelowIsolation: gauge(
      'isolation_refused_servers',
      'Command servers refused because this machine lacks their isolation',
    ),
    mcpInstances: gauge('mcp_instances', 'Instances of tool servers', ['server', 'state']),
    mcpConnects: counter('mcp_connects_total', 'Started instances of tool servers', ['server', 'outcome']),
    mcpClosed: counter('mcp_instances_closed_total', 'Ended instances of tool servers', ['server', 'reason']),
    mcpRefused: counter('mcp_refused_total', 'Tool calls for which no instance of the server was available', [
      'server',
      'reason',
    ]),
    mcpBounds: counter('mcp_bounds_total', 'Limits exceeded by tool servers', ['server', 'bound']),
    egressConnections: counter(
      'egress_connections_total',
      'Connections of tool servers to the egress proxy, by outcome',
      ['server', 'outcome'],
    ),
    configReloads,
    policyDecisions,
    toolChanges,
    toolChangesHeld: gauge('tool_changes_held', 'Changed definitions waiting for an operator'),
    sessions: gauge('sessions', 'Known sessions'),
    workspaceBytes: gauge('workspace_bytes', 'Total bytes of all workspaces that a worker sees'),
    workspaceFreeBytes: gauge('workspace_free_bytes', 'Free bytes on the disk of the workspaces'),
    approvalsPending,
    approvalsOldestAge: gauge(
      'approvals_oldest_age_seconds',
      'How long the oldest of the waiting calls has been waiting',
    ),
    budgetLargestShare: gauge(
      'budget_largest_used_ratio',
      'Highest used share of a budget among the callers seen by this gateway',
    ),
    budgetsExhausted: gauge('budgets_exhausted', 'Callers seen by this gateway that have used up a budget'),
    auditBroken,
    issuerKeysReadAt,
    approvals,
    approvalNotices,
    samplings,
    /** Read at a scrape: the log of a process is older than its metrics. */
    logLinesDropped: new Counter({
      name: 'signalbox_log_lines_dropped_total',
      help: 'Lines of the log that were left out because its reader was too slow or gone',
      registers,
      collect() {
        this.reset();
        this.inc(droppedLines());
      },
    }),
    auditSpoolRows: gauge('audit_spool_rows', 'Outcomes on disk for the store, of each worker that shares it'),

    models: new BoundedLabels(maxModels),
    tools: new BoundedLabels(maxTools),

    /** Counts an error that was thrown or shown, once per object however many hands it passes through. */
    countError(error: unknown): void {
      // A foreign error is counted where it was caught first, and comes again as the cause of the error made from it.
      const toolError = error instanceof AppError ? error.toolError : undefined;
      const forms = [error, error instanceof Error ? error.cause : undefined, toolError].filter(isObject);
      const known = forms.some((form) => counted.has(form));
      if (forms[0] !== undefined && forms[0] === error) counted.add(forms[0]);
      if (known) return;
      const { code, row } = toAppError(error);
      errors.inc({ type: row.type, code });
    },
    /** The error of a tool's outcome; an error that says the same is not counted again. */
    countToolError(error: { code: ErrorCode }): void {
      if (counted.has(error)) return;
      counted.add(error);
      errors.inc({ type: errorTable[error.code].type, code: error.code });
    },
    /** An error that a model was shown as a tool's result. */
    countErrorCode(code: ErrorCode): void {
      errors.inc({ type: errorTable[code].type, code });
    },
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * A histogram of durations. With exemplars each bucket names the last trace that fell into it, which only the format of
 * OpenMetrics can show.
 */
class Latency<Label extends string> {
  constructor(
    private readonly histogram: Histogram<Label>,
    private readonly exemplars: boolean,
  ) {}

  observe(labels: LabelValues<Label>, seconds: number, traceparent: string | undefined): void {
    if (!this.exemplars) return this.histogram.observe(labels, seconds);
    const traceId = sampledTrace.exec(traceparent ?? '')?.[1];
    // prom-client's type takes an exemplar's labels for the histogram's.
    const exemplarLabels = (traceId === undefined ? {} : { trace_id: traceId }) as LabelValues<Label>;
    this.histogram.observe({ labels, value: seconds, exemplarLabels });
  }
}

/** Matches sampled traces: a collector has no others. */
const sampledTrace = /^..-(.{32})-.{16}-.[13579bdf]/;
