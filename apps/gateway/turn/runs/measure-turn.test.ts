import { expect } from 'vitest';
import { silentLogger, type LogFields, type Logger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { verifies } from '../../../../test/verifies.js';
import { TurnMeasure, type MeasuredTurn } from './measure-turn.js';
import { forever } from '../../../../test/support/runnable-call.js';

const turn = {
  request: { dialect: 'events', stream: true, model: 'made-up', messages: [{ role: 'user', content: 'canary' }] },
  context: { principal: 'local', requestId: 'req_1', signal: new AbortController().signal, deadline: forever },
  runId: 'run_1',
} as unknown as MeasuredTurn;
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const start: TurnEvent = { type: 'start', model: 'x/y', runId: 'run_1', sessionId: 's' };
const text: TurnEvent = { type: 'content', text: 'canary' };
const done: TurnEvent = { type: 'done', finishReason: 'stop', usage };

function measure(events: TurnEvent[], tap: ReturnType<typeof measuring>, failure?: AppError): void {
  const measured = new TurnMeasure(turn, tap);
  for (const event of events) measured.note(event);
  if (failure !== undefined) measured.failed(failure);
  measured.ended();
}

function measuring() {
  const lines: { level: string; fields: LogFields }[] = [];
  const at = (level: string) => (fields: LogFields) => {
    if (fields.duration !== undefined) lines.push({ level, fields });
  };
  const logger: Logger = {
    ...silentLogger,
    info: at('info'),
    warn: at('warn'),
    debug: at('debug'),
    error: at('error'),
  };
  const metrics = createMetrics({ processMetrics: false });
  return { metrics, clocks: new TurnClocks(), logger, lines };
}

const valueOf = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(series))
      ?.split(' ')
      .at(-1) ?? 'NaN',
  );

verifies(
  'operations.metrics-turn',
  'a turn that ends well, with a tool that ran and one that was refused',
  async () => {
    const tap = measuring();
    const { metrics } = tap;
    const result = { success: false, content: '', duration_ms: 0 };
    const events: TurnEvent[] = [
      start,
      { type: 'tool_progress', callId: 'a', status: 'queued' },
      { type: 'tool_progress', callId: 'a', status: 'running' },
      { type: 'tool_result', callId: 'a', result: { ...result, error: { code: 'tool_failed', message: '' } } },
      { type: 'tool_result', callId: 'b', result: { ...result, error: { code: 'tool_not_found', message: '' } } },
      text,
      { ...done, toolExecution: { rounds: 3, session_id: 's' } } as TurnEvent,
    ];
    measure(events, tap);
    const shown = await metrics.registry.metrics();
    const requests = 'signalbox_chat_requests_total{dialect="events",stream="true",model="x/y",outcome="ok"}';
    expect(valueOf(shown, requests)).toBe(1);
    expect(valueOf(shown, 'signalbox_chat_requests_with_tools_total')).toBe(1);
    expect(valueOf(shown, 'signalbox_chat_rounds_sum')).toBe(3);
    expect(valueOf(shown, 'signalbox_chat_time_to_first_token_seconds_count')).toBe(1);
    expect(valueOf(shown, 'signalbox_gateway_overhead_seconds_count')).toBe(1);
    // The call that ran is counted by its runner.
    const refused = 'signalbox_tool_calls_total{server="other",tool="other",outcome="tool_not_found"}';
    expect(valueOf(shown, refused)).toBe(1);
    expect(shown).not.toContain('outcome="tool_failed"');
    expect(tap.lines).toHaveLength(1);
    expect(tap.lines[0]!.fields).toMatchObject({ requestId: 'req_1', runId: 'run_1', sessionId: 's', userId: 'local' });
    expect(JSON.stringify(tap.lines)).not.toContain('canary');
  },
);

verifies(
  'operations.metrics-turn',
  'failed, left, and cut turns have their outcome; unknown models are other',
  async () => {
    const tap = measuring();
    const failure = new AppError('model_timeout', 'late');
    measure([], tap, failure);
    measure([start], tap);
    const shown = await tap.metrics.registry.metrics();
    const series = (outcome: string) =>
      `signalbox_chat_requests_total{dialect="events",stream="true",model="other",outcome="${outcome}"}`;
    expect([valueOf(shown, series('model_timeout')), valueOf(shown, series('cancelled'))]).toEqual([1, 1]);
    expect(valueOf(shown, 'signalbox_errors_total{type="timeout_error",code="model_timeout"}')).toBe(1);
    expect(tap.lines.map(({ level }) => level)).toEqual(['warn', 'debug']);
  },
);

verifies(
  'operations.metrics-turn',
  'time with models and tools is not overhead; turns of one request id are apart',
  async () => {
    const tap = measuring();
    const busy: Record<string, number> = {};
    const read = async (runId: string) => {
      const measured = new TurnMeasure({ ...turn, runId }, tap);
      const from = performance.now();
      const leave = tap.clocks.enter(runId);
      await new Promise((resolve) => setTimeout(resolve, 60));
      leave();
      busy[runId] = performance.now() - from;
      if (runId === 'run_2') await new Promise((resolve) => setTimeout(resolve, 120));
      measured.note(done);
      measured.ended();
    };
    await Promise.all([read('run_1'), read('run_2')]);
    const overheads = tap.lines.map(({ fields }) => Number(fields.metadata!['overheadMs']));
    const withOthers = tap.lines.map(({ fields }, at) => fields.duration! - overheads[at]!);
    for (const [at, runId] of ['run_1', 'run_2'].entries()) {
      expect(Math.abs(withOthers[at]! - busy[runId]!)).toBeLessThan(20);
    }
    expect(overheads[1]).toBeGreaterThan(80);
    const shown = await tap.metrics.registry.metrics();
    expect(valueOf(shown, 'signalbox_chat_duration_seconds_sum')).toBeGreaterThan(0.2);
    expect(valueOf(shown, 'signalbox_gateway_overhead_seconds_count')).toBe(2);
  },
);
