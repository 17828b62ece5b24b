// Every line that gateway and worker print, at the most talkative level, against the form that docs/logs.md describes: its
// fields, and the example of each kind.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import type { ScriptedAnswer } from '../support/scripted-upstream.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const lineSchema = z.strictObject({
  timestamp: z.iso.datetime({ precision: 3 }),
  level: z.enum(['debug', 'info', 'warn', 'error']),
  service: z.enum(['gateway', 'worker']),
  tool: z.string().max(300).optional(),
  requestId: z.string().max(300).optional(),
  runId: z
    .string()
    .regex(/^run_[\da-f]+$/)
    .optional(),
  sessionId: z.string().max(300).optional(),
  userId: z.string().max(300).optional(),
  traceId: z
    .string()
    .regex(/^[\da-f]{32}$/)
    .optional(),
  duration: z.number().nonnegative().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  message: z.string().min(1),
});
type Line = z.infer<typeof lineSchema>;

const canaries = {
  provider: 'sk-scripted-upstream',
  bearer: 'canary-bearer-51d0c8',
  argument: 'canary-argument-e2f4',
  content: 'canary-content-8813',
  metrics: 'canary-metrics-4410',
};
const traceId = '0af7651916cd43dd8448eb211c80319c';
let box: Signalbox;
const lines: Line[] = [];

const ask = (path: string, requestId: string, body?: object) =>
  fetch(`${box.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${canaries.bearer}`,
      'x-request-id': requestId,
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).then((answer) => answer.text());

beforeAll(async () => {
  box = await startSignalbox({
    environment: {
      LOG_LEVEL: 'debug',
      AUTH_MODE: 'off',
      METRICS_TOKEN: canaries.metrics,
    },
    script: ({ body }): ScriptedAnswer => {
      if (body['model'] === 'broken') return { status: 500, json: { error: { message: `no ${canaries.provider}` } } };
      const { messages } = body as { messages: { role: string }[] };
      if (body['tools'] === undefined || messages.at(-1)?.role === 'tool') return { text: ['It is ', 'done.'] };
      const args = { path: 'a.txt', content: canaries.content, password: canaries.argument };
      return { toolCalls: [{ id: 'a', name: 'write_file', arguments: args }] };
    },
  });
  const messages = [{ role: 'user', content: `say ${canaries.content}` }];
  const tools = [{ type: 'mcp', server_label: 'workspace' }];
  await ask('/api/chat/completions', 'a-chat', { stream: true, messages, tools, session_id: 'docs' });
  await ask('/v1/chat/completions', 'a-failure', { model: 'scripted/broken', messages });
  await ask('/api/tools/call', 'a-tool', { name: 'read_file', arguments: { path: 'nothing.txt' } });
  await ask('/metrics', 'a-stranger');
  const processes = [box.gateways[0]!, box.workers[0]!];
  await Promise.all(processes.map((each) => each.stop()));
  for (const { log, stray } of processes) {
    expect(stray).toEqual([]);
    lines.push(...(log as unknown as Line[]));
  }
}, 60_000);
afterAll(() => box?.close());
/** Names of the fields and of the metadata. */
const shapeOf = ({ metadata = {}, ...line }: Line) => [
  ...Object.keys(line).sort(),
  ...Object.keys(metadata)
    .sort()
    .map((name) => `metadata.${name}`),
];
const examples = readFileSync(new URL('../../docs/logs.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => lineSchema.parse(JSON.parse(line)));
/** The sentence of a failure is its own. */
const kindOf = ({ message, metadata }: Line) => (metadata?.['error'] === undefined ? message : 'a failure');

verifies('operations.log-kinds', 'every line has the fields of the form, and no others', () => {
  expect(lines.length).toBeGreaterThan(30);
  for (const line of lines) {
    const { error } = lineSchema.safeParse(line);
    expect(error, JSON.stringify(line)).toBeUndefined();
  }
});

verifies('operations.log-kinds', 'every kind is as its example in docs/logs.md', () => {
  const kinds =
    'request,chat,model call,tool call,a failure,first token,arguments complete,round complete,tool call run';
  expect(examples.map(kindOf)).toEqual(kinds.split(','));
  for (const example of examples) {
    const ofKind = lines.filter((line) => kindOf(line) === kindOf(example) && line.service === example.service);
    expect(ofKind.map(shapeOf)).toContainEqual(shapeOf(example));
    expect(ofKind.map(({ level }) => level)).toContain(example.level);
  }
});

verifies('operations.log-kinds', 'one line a request, model call and tool call, with its ids and its trace', () => {
  const of = (requestId: string, message: string) =>
    lines.filter((line) => line.requestId === requestId && line.message === message && line.service === 'gateway');
  const count = (requestId: string) =>
    ['request', 'chat', 'model call', 'tool call', 'first token', 'arguments complete', 'round complete'].map(
      (message) => of(requestId, message).length,
    );
  expect(count('a-chat')).toEqual([1, 1, 2, 1, 1, 1, 2]);
  expect(count('a-failure')).toEqual([1, 1, 1, 0, 0, 0, 0]);
  expect(count('a-tool')).toEqual([1, 0, 0, 1, 0, 0, 0]);
  const ours = lines.filter(({ requestId, runId }) => requestId === 'a-chat' && runId !== undefined);
  expect(new Set(ours.map(({ runId }) => runId)).size).toBe(1);
  expect(new Set(ours.map(({ service }) => service))).toEqual(new Set(['gateway', 'worker']));
  expect(ours.filter((line) => line.traceId !== traceId)).toEqual([]);
});

verifies('operations.log-secrets', 'at debug, of a turn with a tool and of failures, in both processes', () => {
  const text = JSON.stringify(lines);
  expect(Object.values(canaries).filter((canary) => text.includes(canary))).toEqual([]);
});
