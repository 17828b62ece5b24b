import { expect } from 'vitest';
import type { StoredRun } from '#libs/runs/run-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { turnExecution } from '../../../test/support/turn-with-calls.js';
import { verifies } from '../../../test/verifies.js';
import { type TurnAnswer, TurnFold } from '../turn/fold-turn.js';
import { storedEvents } from '../turn/replay-events.js';
import { EventsSseRenderer } from './render-events.js';
import { renderJson } from './render-json.js';
import { OpenAiSseRenderer } from './render-sse.js';

const rendering = { id: 'chatcmpl-1', created: 1 };
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

/** Two rounds: text and a server call, then text and a client call. */
const turn: TurnEvent[] = [
  { type: 'start', model: 'm', runId: 'run_1', sessionId: 's' },
  {
    type: 'content',
    text: 'one',
    extras: { choice: { logprobs: { content: [1] } }, chunk: { system_fingerprint: 'f' } },
  },
  { type: 'tool_call', index: 0, clientIndex: null, id: 'call_a', name: 'read_file', arguments: '' },
  { type: 'tool_call', index: 0, clientIndex: null, arguments: '{}' },
  { type: 'tool_progress', callId: 'call_a', status: 'queued' },
  { type: 'tool_result', callId: 'call_a', result: { success: true, content: 'x\ndata: y', duration_ms: 1 } },
  { type: 'reasoning', text: 'hm' },
  { type: 'content', text: '\n\ntwo', extras: { choice: { logprobs: { content: [2] } } } },
  { type: 'tool_call', index: 1, clientIndex: 0, id: 'call_b', name: 'mine', arguments: '' },
  { type: 'tool_call', index: 1, clientIndex: 0, arguments: '{"a":' },
  { type: 'tool_call', index: 1, clientIndex: 0, arguments: '1}' },
  { type: 'done', finishReason: 'tool_calls', usage, toolExecution: turnExecution },
];

type Chunk = {
  id: string;
  type?: string;
  usage?: unknown;
  delta?: unknown;
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null }[];
  tool_execution?: unknown;
  [member: string]: unknown;
};

function chunksOf(text: string): Chunk[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => JSON.parse(line.slice(6)) as Chunk);
}

function strict(events: TurnEvent[], includeUsage = false): Chunk[] {
  const renderer = new OpenAiSseRenderer(rendering, includeUsage);
  return chunksOf(events.map((event) => renderer.render(event)).join(''));
}

function typed(events: TurnEvent[]): Chunk[] {
  const renderer = new EventsSseRenderer(rendering);
  return chunksOf(events.map((event, at) => renderer.render(event, at + 1)).join(''));
}

function fold(events: Iterable<TurnEvent>) {
  const folded = new TurnFold();
  for (const event of events) folded.add(event);
  return folded.answer;
}

for (const [name, chunks] of [
  ['/v1', strict(turn)],
  ['/api', typed(turn)],
] as const) {
  verifies('chat.stream.one-finish-reason', name, () => {
    const choices = chunks.flatMap((chunk) => chunk.choices);
    expect(choices[0]!.delta['role']).toBe('assistant');
    expect(choices.filter((choice) => 'role' in choice.delta)).toHaveLength(1);
    expect(choices.filter((choice) => choice.finish_reason !== null)).toEqual([
      { index: 0, delta: {}, finish_reason: 'tool_calls' },
    ]);
    expect(new Set(chunks.map((chunk) => chunk.id))).toEqual(new Set(['chatcmpl-1']));
    expect(chunks.every((chunk) => chunk['object'] === 'chat.completion.chunk' && chunk['model'] === 'm')).toBe(true);
    // In `choices`, client calls are numbered from 0, without server calls.
    const calls = choices.flatMap((choice) => (choice.delta['tool_calls'] as { index: number; id?: string }[]) ?? []);
    expect(calls.map((call) => call.index)).toEqual([0, 0, 0]);
    expect(calls[0]!.id).toBe('call_b');
  });
}

verifies('chat.stream.strict', 'no type, no tool turn; tool_execution rides on the finish', () => {
  const chunks = strict(turn);
  expect(chunks.some((chunk) => chunk.type !== undefined)).toBe(false);
  expect(JSON.stringify(chunks)).not.toContain('call_a');
  expect(chunks.at(-1)!.tool_execution).toEqual(turnExecution);
});

verifies('chat.usage.summed', 'the usage chunk of /v1', () => {
  expect(strict(turn).some((chunk) => chunk.usage !== undefined)).toBe(false);
  expect(strict(turn, true).at(-1)).toMatchObject({ choices: [], usage });
  expect(typed(turn).at(-1)!.usage).toEqual(usage);
});

verifies(
  'chat.stream.events',
  'each event is one data line that carries its type first and never an empty choices',
  () => {
    const renderer = new EventsSseRenderer(rendering);
    const frames = turn.map((event, at) => renderer.render(event, at + 1));
    frames.forEach((frame, at) => {
      expect(frame).toMatch(new RegExp(`^id: ${at + 1}\\ndata: \\{"type":"${turn[at]!.type}",.*\\}\\n\\n$`));
      expect(frame.trimEnd().split('\n')).toHaveLength(2);
    });
    const chunks = typed(turn);
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true);
    expect(chunks[2]!.delta).toEqual({
      tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'read_file', arguments: '' } }],
    });
    expect(chunks[2]!.choices[0]!.delta).toEqual({});
    expect(chunks[5]).toMatchObject({ tool_call_id: 'call_a', result: { success: true, content: 'x\ndata: y' } });
    expect(chunks[8]!.delta).toMatchObject({ tool_calls: [{ index: 1, id: 'call_b' }] });
  },
);

verifies('chat.json.fold', 'text of all rounds, the client call, members that nobody knows', () => {
  const answer = renderJson(fold(turn), rendering);
  expect(answer).toMatchObject({
    object: 'chat.completion',
    system_fingerprint: 'f',
    choices: [
      {
        index: 0,
        logprobs: { content: [1, 2] },
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'one\n\ntwo',
          reasoning_content: 'hm',
          tool_calls: [{ id: 'call_b', type: 'function', function: { name: 'mine', arguments: '{"a":1}' } }],
        },
      },
    ],
    usage,
    tool_execution: turnExecution,
  });
});

const runOf = (answer: TurnAnswer) => ({ id: answer.runId, answer: answer as unknown as JsonObject }) as StoredRun;

verifies('chat.json.fold', 'an answer emitted again folds into itself', () => {
  const answer = fold(turn);
  expect(fold(storedEvents(runOf(answer), []))).toEqual(answer);
});

verifies(
  'chat.warnings',
  'on the finish of a stream and beside choices; what an upstream said of the same name is replaced',
  () => {
    const warnings = [{ message: 'Left out.', param: 'seed' }];
    const reported = [
      ...turn.slice(0, -1),
      { ...turn.at(-1)!, extras: { chunk: { warnings: [] } }, warnings } as TurnEvent,
    ];
    for (const chunks of [strict(reported), typed(reported)]) {
      expect(chunks.filter((chunk) => 'warnings' in chunk)).toEqual([chunks.at(-1)]);
      expect(chunks.at(-1)).toMatchObject({ warnings, tool_execution: turnExecution });
    }
    expect(renderJson(fold(reported), rendering)).toMatchObject({ warnings });
    expect(fold(storedEvents(runOf(fold(reported)), []))).toEqual(fold(reported));
    expect(JSON.stringify([strict(turn), typed(turn), renderJson(fold(turn), rendering)])).not.toContain('warnings');
  },
);

verifies('chat.json.fold', 'several choices, each with its reason', () => {
  const answer = fold([
    { type: 'start', model: 'm', runId: 'r' },
    { type: 'content', text: 'b', choice: 1 },
    { type: 'content', text: 'a' },
    { type: 'done', finishReason: 'stop', finishReasons: ['stop', 'length'], usage },
  ]);
  expect(answer.choices.map(({ text, finishReason }) => [text, finishReason])).toEqual([
    ['a', 'stop'],
    ['b', 'length'],
  ]);
  expect(fold(storedEvents(runOf(answer), []))).toEqual(answer);
});
