import { expect } from 'vitest';
import type { Journal } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { forever } from '../../../../test/support/runnable-call.js';
import { verifies } from '../../../../test/verifies.js';
import type { Call } from '../call.js';
import { type ToolCallPorts, DirectCalls } from './call-tool.js';
import { LateCancels } from './late-cancels.js';

const away = new AppError('store_unavailable', 'The store did not answer in time');

verifies('tools.refusal-means-nothing-ran', 'its plan was written, and nobody was told so', async () => {
  const planned: string[] = [];
  const cancelled: string[] = [];
  const journal: Partial<Journal> = {
    plan: async ({ id }) => {
      planned.push(id);
      throw away;
    },
    cancelPlanned: async ([callId]) => {
      // At first the statement is still under way.
      if (cancelled.push(callId!) < 2) return [];
      return [callId!];
    },
  };
  const tool = { name: 'write_file', timeoutMs: 1_000, maxTimeoutMs: 1_000 } as CatalogTool;
  const calls = new DirectCalls({
    catalog: { find: () => tool },
    validator: { validate: () => ({ ok: true, arguments: {} }) },
    decide: () => ({ effect: 'allow' }),
    deniedTool: () => undefined,
    journal,
    lateCancels: new LateCancels({ journal: journal as Journal, onDropped: () => undefined }),
    runner: {
      untilWorker: async () => undefined,
      plan: (call: Call, tool: CatalogTool, args: JsonObject) =>
        call.prepare(tool, args, { replyTo: 'gateway-1', questions: { expiresMs: 1_000, notify: false } }),
    },
  } as unknown as ToolCallPorts);
  const from = { requestId: 'req_1', principal: 'local', signal: new AbortController().signal, deadline: forever };
  const request = { name: 'write_file', argumentsText: '{}' };
  await expect(calls.prepare(request, from as RequestContext)).rejects.toBe(away);
  await expect.poll(() => cancelled).toEqual([planned[0], planned[0]]);
});
