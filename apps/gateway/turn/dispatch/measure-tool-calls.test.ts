import { expect } from 'vitest';
import { silentLogger, type LogFields } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { forever, runnableCall } from '../../../../test/support/runnable-call.js';
import { verifies } from '../../../../test/verifies.js';
import { Call } from '../call.js';
import { ToolCallMeasure } from './measure-tool-calls.js';

const tool = { server: 'workspace', tool: 'read_file', name: 'read_file' } as CatalogTool;
const ids = { requestId: 'r', sessionId: 's', callId: 'call_1', runId: 'run_1' };
const context = { principal: 'local', ...ids, deadline: forever } as unknown as CallContext;
const completed: ToolOutcome = {
  state: 'completed',
  blocks: [{ type: 'text', text: 'canary-result' }],
  durationMs: 40,
  queueWaitMs: 2,
};

async function run(
  result: ToolOutcome | Error,
  logContent = false,
  metrics = createMetrics({ processMetrics: false }),
) {
  const lines: LogFields[] = [];
  const logger = { ...silentLogger, info: (fields: LogFields) => void lines.push(fields) };
  const measure = new ToolCallMeasure({ metrics, clocks: new TurnClocks(), logger, logContent });
  const call = runnableCall(tool, { path: 'canary-argument' }, context);
  const ended = measure.start(call);
  if (result instanceof Error) ended(undefined, result);
  else ended(result);
  return { lines, text: await metrics.registry.metrics() };
}

verifies('operations.metrics-tool-call', 'server, tool, outcome, time in the worker and in the queue', async () => {
  const { text } = await run(completed);
  expect(text).toContain('signalbox_tool_calls_total{server="workspace",tool="read_file",outcome="ok"} 1');
  expect(text).toContain('signalbox_tool_duration_seconds_sum{server="workspace",tool="read_file"} 0.04');
  expect(text).toContain('signalbox_tool_queue_wait_seconds_sum 0.002');
  const failed = await run(failedOutcome('failed', 'tool_crashed', 'gone'));
  expect(failed.text).toContain('tool="read_file",outcome="tool_crashed"} 1');
  expect(failed.text).toContain('signalbox_errors_total{type="tool_execution_error",code="tool_crashed"} 1');
  const refused = await run(new AppError('queue_full', 'full'));
  expect(refused.text).toContain('outcome="queue_full"} 1');
  expect(refused.text).toContain('signalbox_errors_total{type="overloaded_error",code="queue_full"} 1');
});

verifies('tools.search-governed', 'a search is counted and logged as a tool of the gateway', async () => {
  const lines: LogFields[] = [];
  const logger = { ...silentLogger, info: (fields: LogFields) => void lines.push(fields) };
  const metrics = createMetrics({ processMetrics: false });
  const measure = new ToolCallMeasure({ metrics, clocks: new TurnClocks(), logger, logContent: false });
  const call = new Call('call_2', 'find_tools').of('server', context);
  const ended = measure.start(call);
  call.answer({ query: 'canary-argument' }, completed);
  ended(completed);
  expect(await metrics.registry.metrics()).toContain(
    'signalbox_tool_calls_total{server="signalbox",tool="find_tools",outcome="ok"} 1',
  );
  expect(lines).toMatchObject([{ tool: 'find_tools', metadata: { server: 'signalbox', outcome: 'ok' } }]);
  expect(JSON.stringify(lines)).not.toContain('canary');
});

verifies('operations.metrics-bounded', 'tools past the limit are other', async () => {
  const metrics = createMetrics({ processMetrics: false });
  for (let at = 0; metrics.tools.label(`s/${at}`, true) !== 'other'; at++);
  const { text } = await run(completed, false, metrics);
  expect(text).toContain('signalbox_tool_calls_total{server="other",tool="other",outcome="ok"} 1');
  expect(text).not.toContain('read_file');
});

verifies('operations.log-content', 'names, bytes and digest; content only when asked for', async () => {
  const { lines } = await run(completed);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    tool: 'read_file',
    runId: 'run_1',
    metadata: {
      outcome: 'ok',
      arguments: { names: ['path'], bytes: 26, digest: expect.stringMatching(/^[0-9a-f]{16}$/) as string },
    },
  });
  expect(JSON.stringify(lines)).not.toContain('canary');
  const open = JSON.stringify((await run(completed, true)).lines);
  expect(open).toContain('canary-argument');
  expect(open).toContain('canary-result');
});
