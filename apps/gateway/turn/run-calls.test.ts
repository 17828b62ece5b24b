import { expect } from 'vitest';
import type { Approval } from '#libs/approvals/approval.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { verifies } from '../../../test/verifies.js';
import { ApprovalNeeded } from '../govern/approval-needed.js';
import type { ServerCall } from './dispatch/server-call.js';
import type { ToolRunner } from './dispatch/tool-runner.js';
import type { TurnCall } from './plan-calls.js';
import { runCalls } from './run-calls.js';

const ids = ['one', 'two', 'three'];
const callOf = (id: string) =>
  ({
    planned: { id, server: 'workspace', sessionId: 's', arguments: {} },
    runs: { tool: { readOnly: true } as CatalogTool } as ServerCall,
  }) as TurnCall;

/** A changing call of a session. */
const changing = (id: string, sessionId: string) =>
  ({
    planned: { id, server: 'workspace', sessionId, arguments: {} },
    runs: { tool: { readOnly: false } as CatalogTool, context: { callId: id } } as ServerCall,
  }) as TurnCall;

const plan = (): never => {
  throw new Error('planned already');
};

const unasked = (): never => {
  throw new Error('no call needs an approval');
};
const skip = unasked;
const noApprovals = { decided: unasked };

/** A worker whose tools end only when all calls of the round are under way, which proves that they run concurrently. */
function heldUntil(count: number): ToolRunner {
  let release: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (release = resolve));
  let begun = 0;
  return {
    plan,
    skip,
    hasWorker: () => true,
    async run(_call, onProgress) {
      onProgress({ status: 'queued' });
      if (++begun === count) release();
      await all;
      return { state: 'completed', blocks: [], durationMs: 1 };
    },
  };
}

verifies('chat.auto.parallel', 'those that only read are all dispatched before the first has ended', async () => {
  const told: string[] = [];
  const runner = heldUntil(ids.length);
  await runCalls(
    ids.map(callOf),
    { runner, approvals: noApprovals },
    {
      parallel: true,
      tell: (events) => void told.push(...events.map(({ type }) => type)),
    },
  );
  expect(told).toEqual([...ids.map(() => 'tool_progress'), ...ids.map(() => 'tool_result')]);
});

verifies('questions.returned', 'calls behind one that waits for an answer are not made, others are', async () => {
  const told: TurnEvent[] = [];
  const skipped: string[] = [];
  const question = { id: 'appr_1', rule: null, reason: null, expiresAt: new Date() } as Approval;
  const runner: ToolRunner = {
    plan,
    hasWorker: () => true,
    skip: async ({ context }) => void skipped.push(context.callId),
    run: async ({ context: { callId } }) => {
      if (callId === 'one') throw new ApprovalNeeded(question);
      return { state: 'completed', blocks: [], durationMs: 1 };
    },
  };
  const calls = ['one', 'two', 'three'].map((id) => changing(id, id === 'three' ? 'other' : 'same'));
  const { asked, outcomes } = await runCalls(
    calls,
    { runner, approvals: noApprovals },
    { parallel: true, tell: (events) => void told.push(...events) },
  );
  expect(asked).toEqual([question]);
  expect(skipped).toEqual(['two']);
  expect(calls.map((call) => outcomes.get(call)?.state)).toEqual([undefined, 'cancelled', 'completed']);
  expect(told.map((event) => 'callId' in event && event.callId)).toEqual(expect.arrayContaining(['two', 'three']));
});

verifies('chat.auto.parallel', 'of a reader that is behind only the newest progress of a call waits', async () => {
  const told: unknown[] = [];
  let taken: () => void = () => undefined;
  const runner: ToolRunner = {
    plan,
    skip,
    hasWorker: () => true,
    async run(_call, onProgress) {
      for (let progress = 1; progress <= 1_000; progress += 1) onProgress({ status: 'running', progress });
      setImmediate(() => taken());
      return { state: 'completed', blocks: [], durationMs: 1 };
    },
  };
  await runCalls(
    [callOf('one')],
    { runner, approvals: noApprovals },
    {
      parallel: true,
      tell(events) {
        told.push(...events.map((event) => (event.type === 'tool_progress' ? event.progress : event.type)));
        return told.length > 1 ? undefined : new Promise((resolve) => (taken = () => resolve(undefined)));
      },
    },
  ).catch(() => undefined);
  expect(told).toEqual([1, 1_000, 'tool_result']);
});
