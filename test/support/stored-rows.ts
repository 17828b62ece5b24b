// Runs, rounds and calls for tests of the store: whole, and different each time.
import type { NewRun, PlannedCall, PlannedRound } from '#libs/runs/run-store.js';
import { mintCallId, mintRequestId, mintRunId } from '#libs/schemas/identifiers.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { noUsage } from '#libs/schemas/usage.js';

export function someRun(members: Partial<NewRun> = {}): NewRun {
  return {
    id: mintRunId(),
    principal: 'local',
    requestId: mintRequestId(),
    requestHash: 'hash',
    dialect: 'events',
    detached: false,
    request: { messages: [{ role: 'user', content: 'hello' }] },
    owner: 'gateway-1',
    ...members,
  };
}

/** A server call with its job. */
export function someCall(members: Partial<PlannedCall> = {}): PlannedCall {
  const call: PlannedCall = {
    id: mintCallId(true),
    kind: 'server',
    principal: 'local',
    sessionId: 'session-1',
    name: 'write_file',
    server: 'workspace',
    tool: 'write_file',
    definitionHash: 'definition',
    arguments: { path: 'notes.md' },
    safe: false,
    ...members,
  };
  return call.kind === 'client' ? call : { job: someJob(call), ...call };
}

export function someJob(call: PlannedCall): ToolJob {
  return {
    version: 1,
    callId: call.id,
    replyTo: 'gateway-1',
    principal: call.principal,
    requestId: 'req_1',
    sessionId: call.sessionId,
    server: call.server,
    tool: call.tool,
    name: call.name,
    definitionHash: call.definitionHash,
    arguments: call.arguments,
    safe: call.safe,
    priority: 'interactive',
    timeoutMs: 60_000,
    maxTimeoutMs: 600_000,
    deadline: Date.now() + 600_000,
    queuedAt: Date.now(),
  };
}

export function someRound(runId: string, members: Partial<PlannedRound> = {}): PlannedRound {
  const calls = members.calls ?? [];
  return {
    runId,
    round: 1,
    provider: 'offline',
    model: 'echo',
    content: 'I will look.',
    reasoning: '',
    toolCalls: calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    })),
    usage: noUsage,
    finishReason: 'tool_calls',
    lastEvent: 3,
    startedAt: new Date(),
    calls,
    ...members,
  };
}

export const someOutcome: ToolOutcome = {
  state: 'completed',
  blocks: [{ type: 'text', text: 'done' }],
  durationMs: 12,
  queueWaitMs: 3,
};
