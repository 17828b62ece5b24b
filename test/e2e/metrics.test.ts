import { afterAll, beforeAll, expect } from 'vitest';
import type { ScriptedAnswer } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const providerKey = 'sk-scripted-upstream';
const password = 'canary-pass-9471';
const bearer = 'canary-bearer-5520';
const content = 'canary-content-8813';
const canaries = [providerKey, password, bearer, content];
const answers: string[] = [];
const before: Record<'gateway' | 'worker', Series> = { gateway: new Map(), worker: new Map() };
const after: typeof before = { gateway: new Map(), worker: new Map() };

type Series = Map<string, number>;
let box: SignalboxHere;
let exposed = '';

async function scrape(url: string): Promise<Series> {
  const text = await (await fetch(`${url}/metrics`)).text();
  exposed += text;
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function ask(path: string, body: object): Promise<Response> {
  const answer = await fetch(`${box.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}`, 'x-request-id': 'same-for-all' },
    body: JSON.stringify(body),
  });
  answers.push(await answer.text());
  return answer;
}

/** How much the sum of a metric's series with these labels has grown in the gateway. */
function grown(name: string, labels: Record<string, string> = {}): number {
  let sum = 0;
  for (const [series, value] of after.gateway) {
    if (series !== name && !series.startsWith(`${name}{`)) continue;
    if (Object.entries(labels).every(([label, wanted]) => series.includes(`${label}="${wanted}"`))) {
      sum += value - (before.gateway.get(series) ?? 0);
    }
  }
  return sum;
}

const messages = [{ role: 'user', content: `say ${content}` }];
const tools = [{ type: 'mcp', server_label: 'workspace' }];

beforeAll(async () => {
  box = await startSignalboxHere({
    environment: { LOG_LEVEL: 'debug' },
    script: (request): ScriptedAnswer => {
      if (request.body['model'] === 'broken') return { status: 500, json: { error: { message: `no ${providerKey}` } } };
      if (JSON.stringify(request.body['model']).startsWith('"made-up')) {
        return { status: 404, json: { error: { message: 'no such model', code: 'model_not_found' } } };
      }
      const { messages: sent } = request.body as { messages: { role: string }[] };
      if (request.body['tools'] === undefined || sent.at(-1)?.role === 'tool') return { text: ['It is ', 'done.'] };
      const write = { path: 'a.txt', content, password };
      return {
        toolCalls: [
          { id: 'a', name: 'write_file', arguments: { path: 'a.txt', content: password } },
          { id: 'b', name: 'write_file', arguments: write },
          { id: 'c', name: 'no_such_tool_1' },
        ],
      };
    },
  });
  const scrapes = async (into: typeof before) => {
    into.gateway = await scrape(box.url);
    into.worker = await scrape(box.workers[0]!.url);
  };
  await scrapes(before);
  await Promise.all([
    ask('/api/chat/completions', { stream: true, messages, tools }),
    ask('/v1/chat/completions', { messages }),
  ]);
  await ask('/v1/chat/completions', { stream: true, messages });
  await ask('/v1/chat/completions', { model: 'scripted/broken', messages });
  for (const model of ['scripted/made-up-1', 'scripted/made-up-2'])
    await ask('/v1/chat/completions', { model, messages });
  await ask('/api/tools/call', { name: 'read_file', arguments: { path: 'nothing.txt', password } });
  await ask('/api/tools/call', { name: 'list_directory', arguments: { path: '.' }, session_id: 'metrics' });
  await scrapes(after);
}, 60_000);
afterAll(() => box?.close());

verifies('operations.metrics-move', 'turns, by dialect, form and outcome', () => {
  const turns = 'signalbox_chat_requests_total';
  expect(grown(turns, { dialect: 'events', stream: 'true', outcome: 'ok' })).toBe(1);
  expect(grown(turns, { dialect: 'openai', stream: 'false', outcome: 'ok' })).toBe(1);
  expect(grown(turns, { dialect: 'openai', stream: 'true', outcome: 'ok' })).toBe(1);
  expect(grown(turns, { outcome: 'model_error' })).toBe(1);
  expect(grown('signalbox_chat_requests_with_tools_total')).toBe(1);
  expect(grown('signalbox_chat_rounds_sum')).toBe(4);
  expect(grown('signalbox_chat_time_to_first_token_seconds_count')).toBe(3);
  expect(grown('signalbox_gateway_overhead_seconds_count')).toBe(3);
  expect(grown('signalbox_chat_duration_seconds_count')).toBeGreaterThanOrEqual(4);
  expect(grown('signalbox_gateway_overhead_seconds_sum')).toBeLessThan(
    grown('signalbox_chat_duration_seconds_sum') + 0.001,
  );
});

verifies('operations.metrics-move', 'model calls, tokens, tool calls, errors, sessions, the queue', () => {
  expect(grown('signalbox_model_calls_total', { provider: 'scripted', outcome: 'ok' })).toBe(4);
  expect(grown('signalbox_model_calls_total', { outcome: 'model_error' })).toBe(1);
  expect(grown('signalbox_model_calls_total', { model: 'other', outcome: 'model_not_found' })).toBe(2);
  expect(grown('signalbox_model_call_duration_seconds_count')).toBe(7);
  expect(grown('signalbox_tokens_total', { kind: 'prompt' })).toBe(40);
  expect(grown('signalbox_tokens_total', { kind: 'completion' })).toBe(20);
  expect(grown('signalbox_model_calls_unpriced_total', { provider: 'scripted' })).toBe(4);
  expect(grown('signalbox_tool_calls_total', { server: 'workspace', tool: 'write_file', outcome: 'ok' })).toBe(2);
  expect(grown('signalbox_tool_calls_total', { tool: 'list_directory', outcome: 'ok' })).toBe(1);
  expect(grown('signalbox_tool_calls_total', { tool: 'other', outcome: 'tool_not_found' })).toBe(1);
  expect(grown('signalbox_tool_duration_seconds_count', { tool: 'write_file' })).toBeGreaterThanOrEqual(1);
  expect(grown('signalbox_tool_queue_wait_seconds_count')).toBeGreaterThanOrEqual(2);
  expect(grown('signalbox_errors_total', { code: 'model_error' })).toBe(1);
  expect(grown('signalbox_errors_total', { code: 'model_not_found' })).toBe(2);
  // The failure of the tool, which the tools API returned.
  expect(grown('signalbox_errors_total', { code: 'tool_failed' })).toBe(1);
  expect(after.gateway.get('signalbox_sessions')).toBeGreaterThan(before.gateway.get('signalbox_sessions')!);
  expect(after.gateway.has('signalbox_queue_jobs{state="waiting"}')).toBe(true);
  expect(after.gateway.get('signalbox_queue_oldest_job_age_seconds')).toBe(0);
  for (const process of [after.gateway, after.worker]) expect(process.has('process_cpu_seconds_total')).toBe(true);
});

verifies('operations.metrics-bounded', 'no caller is in a label, no stranger makes a series', () => {
  const own = [...after.gateway.keys(), ...after.worker.keys()].filter((series) => series.startsWith('signalbox_'));
  const labels = new Set(own.flatMap((series) => [...series.matchAll(/(\w+)="/g)].map(([, name]) => name)));
  const known = [
    'dialect',
    'stream',
    'model',
    'outcome',
    'provider',
    'kind',
    'server',
    'tool',
    'type',
    'code',
    'state',
  ];
  const allowed = new Set([...known, 'limit', 'le', 'result', 'grade', 'effect', 'reason']);
  expect([...labels].filter((label) => !allowed.has(label!))).toEqual([]);
  for (const callers of ['made-up', 'no_such_tool', 'same-for-all', '"local"', '"metrics"']) {
    expect(exposed.split('\n').find((line) => line.includes(callers))).toBeUndefined();
  }
  expect(canaries.filter((canary) => exposed.includes(canary))).toEqual([]);
});

const fields = new Set(
  'timestamp level message service tool requestId runId sessionId userId duration metadata traceId'.split(' '),
);

verifies('operations.log-line', 'of a whole run: the fields of the specification, one line each', async () => {
  const { log } = box.gateways[0]!;
  for (const line of [...log, ...box.workers[0]!.log]) {
    expect(Object.keys(line).filter((field) => !fields.has(field))).toEqual([]);
    expect(line).toMatchObject({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: expect.any(String),
    });
    expect(['debug', 'info', 'warn', 'error']).toContain(line['level']);
  }
  const lines = (message: string) => log.filter((line) => line['message'] === message);
  expect(lines('chat')).toHaveLength(6);
  expect(lines('model call')).toHaveLength(7);
  expect(lines('tool call').map((line) => line['tool'])).toContain('list_directory');
  expect(new Set(lines('chat').map((line) => line['runId'])).size).toBe(6);
  expect(
    lines('request').filter(({ metadata }) => (metadata as { route: string }).route === '/api/tools/call'),
  ).toHaveLength(2);
});

verifies('operations.log-secrets', 'of a whole run, in no output', () => {
  const logs = JSON.stringify([...box.gateways[0]!.log, ...box.workers[0]!.log]);
  expect(canaries.filter((canary) => logs.includes(canary))).toEqual([]);
  const shown = answers.join('\n');
  expect([providerKey, bearer].filter((secret) => shown.includes(secret))).toEqual([]);
});
