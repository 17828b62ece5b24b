import { expect } from 'vitest';
import type { Wait } from '#libs/waits/wait.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { runnableCall } from '../../../test/support/runnable-call.js';
import { verifies } from '../../../test/verifies.js';
import { ApprovalNeeded } from '../govern/approval-needed.js';
import type { Call } from './call.js';
import { type RoundPorts, settleRound } from './round.js';
import type { Round, Turn, TurnRecord } from './turn.js';

const ids = ['one', 'two', 'three'];
const deadline = new Deadline(steadyNow() + 60_000);

function callOf(id: string, sessionId = 's', readOnly = true): Call {
  const tool = { server: 'workspace', tool: 'a_tool', name: 'a_tool', readOnly, timeoutMs: 1_000, maxTimeoutMs: 1_000 };
  const context = { callId: id, sessionId, principal: 'local', requestId: 'req_1', deadline };
  return runnableCall(tool as CatalogTool, {}, context as unknown as CallContext);
}

/** A changing call of a session. */
const changing = (id: string, sessionId: string) => callOf(id, sessionId, false);

const plan = (): never => {
  throw new Error('planned already');
};

const unasked = (): never => {
  throw new Error('no call needs an approval');
};
const skip = unasked;

/** Settles a round of these calls for a caller that does not stay. Returns the calls that it was given. */
async function settle(calls: Call[], runner: RoundPorts['runner'], emit: TurnRecord['emit']): Promise<Call[]> {
  const given: Call[] = [];
  const round = { runId: 'run_1', number: 1, model: 'm', calls: [...calls], places: undefined } as unknown as Round;
  const turn = {
    runId: 'run_1',
    request: {},
    context: { deadline, signal: new AbortController().signal },
    state: { numbering: { calls: 0, clientCalls: 0 } },
  } as unknown as Turn;
  const ports = {
    runner,
    approvals: { decided: unasked },
    journal: { plan: async () => undefined },
  } as unknown as RoundPorts;
  await settleRound(round, turn, ports, { emit });
  given.push(...round.calls.slice(calls.length));
  return given;
}

/** A worker whose tools end only when all calls of the round are under way, which proves that they run concurrently. */
function heldUntil(count: number): RoundPorts['runner'] {
  let release: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (release = resolve));
  let begun = 0;
  return {
    plan,
    skip,
    async run(_call, onProgress) {
      onProgress({ status: 'queued' });
      if (++begun === count) release();
      await all;
      return { state: 'completed', blocks: [], durationMs: 1 };
    },
  };
}

verifies('chat.auto.parallel', 'those that only read are all dispatched before the first has ended', async () => {
  const emitted: string[] = [];
  const runner = heldUntil(ids.length);
  const calls = ids.map((id) => callOf(id));
  await settle(calls, runner, (events) => void emitted.push(...events.map(({ type }) => type)));
  expect(emitted).toEqual([...ids.map(() => 'tool_progress'), ...ids.map(() => 'tool_result')]);
});

verifies('questions.returned', 'calls behind one that waits for an answer are not made, others are', async () => {
  const emitted: TurnEvent[] = [];
  const skipped: string[] = [];
  const now = new Date();
  const question = { id: 'appr_1', kind: 'question', rule: null, reason: null, expiresAt: now, createdAt: now } as Wait;
  const runner: RoundPorts['runner'] = {
    plan,
    skip: async ({ id }) => void skipped.push(id),
    run: async ({ id }) => {
      if (id === 'one') throw new ApprovalNeeded(question);
      return { state: 'completed', blocks: [], durationMs: 1 };
    },
  };
  const calls = ['one', 'two', 'three'].map((id) => changing(id, id === 'three' ? 'other' : 'same'));
  const given = await settle(calls, runner, (events) => void emitted.push(...events));
  expect(given.map((call) => call.arguments['id'])).toEqual([question.id]);
  expect(skipped).toEqual(['two']);
  expect(calls.map((call) => call.outcome?.state)).toEqual([undefined, 'cancelled', 'completed']);
  expect(emitted.map((event) => 'callId' in event && event.callId)).toEqual(expect.arrayContaining(['two', 'three']));
});

verifies('chat.auto.parallel', 'of a reader that is behind only the newest progress of a call waits', async () => {
  const emitted: unknown[] = [];
  let taken: () => void = () => undefined;
  const runner: RoundPorts['runner'] = {
    plan,
    skip,
    async run(_call, onProgress) {
      for (let progress = 1; progress <= 1_000; progress += 1) onProgress({ status: 'running', progress });
      setImmediate(() => taken());
      return { state: 'completed', blocks: [], durationMs: 1 };
    },
  };
  await settle([callOf('one')], runner, (events) => {
    emitted.push(...events.map((event) => (event.type === 'tool_progress' ? event.progress : event.type)));
    return emitted.length > 1 ? undefined : new Promise((resolve) => (taken = () => resolve(undefined)));
  });
  expect(emitted).toEqual([1, 1_000, 'tool_result']);
});
