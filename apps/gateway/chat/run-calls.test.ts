import { expect } from 'vitest';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { verifies } from '../../../test/verifies.js';
import type { ToolRunner } from '../tools/tool-runner.js';
import type { TurnCall } from './plan-calls.js';
import { runCalls } from './run-calls.js';

const ids = ['one', 'two', 'three'];
const callOf = (id: string) =>
  ({
    planned: { id, server: 'workspace', sessionId: 's', arguments: {} },
    tool: { readOnly: true } as CatalogTool,
    context: { callId: id },
  }) as TurnCall;

/** A worker whose tools end when all of the round are under way, as they never are one after the other. */
function heldUntil(count: number): ToolRunner {
  let release: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (release = resolve));
  let begun = 0;
  return {
    hasWorker: () => true,
    async run(_call, _context, onProgress) {
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
  for await (const event of runCalls(ids.map(callOf), runner, { parallel: true, onEnd: () => undefined })) {
    told.push(event.type);
  }
  expect(told).toEqual([...ids.map(() => 'tool_progress'), ...ids.map(() => 'tool_result')]);
});
