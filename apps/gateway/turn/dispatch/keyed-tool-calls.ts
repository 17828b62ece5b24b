// Tool calls with an Idempotency-Key. The key belongs to a run without rounds;
// what became of its call stands in the journal and nowhere else. A call that never began may be planned again, under a
// new id; one that was planned is only ever waited for.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ApprovalStore } from '#libs/approvals/approval-store.js';
import type { Journal, RunEnd, RunStore, StoredCall, StoredRun } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRunId, mintSessionId } from '#libs/schemas/identifiers.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { noUsage } from '#libs/schemas/usage.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import { outcomeElsewhere } from '../wait.js';
import type { EndedToolCall, ToolCaller, ToolCallRequest, DirectCalls } from './call-tool.js';
import type { SamplingDesk } from './dispatch-services.js';
import type { ToolProgress } from './tool-runner.js';

export interface KeyedToolCallPorts {
  calls: DirectCalls;
  runs: RunStore;
  journal: Journal;
  approvals: Pick<ApprovalStore, 'get'>;
  questions: Pick<SamplingDesk, 'open'>;
  gatewayId: string;
  /** Tells that a run of ours goes on here, until the returned function is called: others would interrupt it. */
  reserve: (runId: string) => () => void;
  logger: Logger;
}

export interface RepeatableToolCallRequest extends ToolCallRequest {
  /** Absent: an ordinary call, which nobody can ask for again. */
  idempotencyKey?: string;
}

type KeyedToolCallRequest = ToolCallRequest & { idempotencyKey: string };

export interface KeyedToolCall {
  context: Pick<CallContext, 'callId'>;
  run(
    onProgress: (progress: ToolProgress) => void,
  ): Promise<Omit<EndedToolCall, 'tool'> & { tool: Pick<CatalogTool, 'name'> }>;
}

/** The call that stands for the key: how many before it never began, and its row once it is planned. */
interface Attempt {
  number: number;
  callId: string;
  stored?: StoredCall | undefined;
}

interface Keyed {
  request: KeyedToolCallRequest;
  from: ToolCaller;
  run: StoredRun;
}

const askAgainMs = { first: 50, most: 1_000 };
const settlePatienceMs = 300_000;

export class KeyedToolCalls {
  /** Runs whose call this gateway is about to plan or waits for: nobody else here may take them up. */
  private readonly mine = new Map<string, () => void>();

  constructor(private readonly ports: KeyedToolCallPorts) {}

  /** @throws AppError idempotency_mismatch, and what ToolCalls.prepare throws */
  async prepare(given: RepeatableToolCallRequest, from: ToolCaller): Promise<KeyedToolCall> {
    const { idempotencyKey } = given;
    if (idempotencyKey === undefined) return this.ports.calls.prepare(given, from);
    const request = { ...given, idempotencyKey };
    const id = mintRunId();
    const requestHash = hashOf(request);
    this.take(id);
    const { created, run } = await this.beginRun({ id, requestHash, request, from });
    const keyed = { request, from, run };
    if (created) return this.start(keyed, { number: 0, callId: callIdOf(id, 0) });
    if (run.requestHash !== requestHash) {
      throw new AppError('idempotency_mismatch', 'This Idempotency-Key was used with another request');
    }
    const { callId, stored } = await this.attempt(run);
    if (stored?.state === 'parked') return this.parked(stored, from);
    return { context: { callId }, run: (onProgress) => this.attach(keyed, onProgress) };
  }

  private async beginRun(given: { id: string; requestHash: string; request: KeyedToolCallRequest; from: ToolCaller }) {
    const { id, requestHash, request, from } = given;
    let created = false;
    try {
      const begun = await this.ports.runs.begin({
        id,
        principal: from.principal,
        requestId: from.requestId,
        idempotencyKey: request.idempotencyKey,
        requestHash,
        sessionId: request.sessionId ?? mintSessionId(),
        dialect: 'events',
        detached: true,
        request: { tool: request.name },
        owner: this.ports.gatewayId,
        ...(from.keyId === undefined ? {} : { keyId: from.keyId }),
      });
      created = begun.created;
      return begun;
    } finally {
      if (!created) this.leave(id);
    }
  }

  /** Plans the call and begins it. Its caller may go and come back: what ends it is its own time. */
  private async start({ request, from, run }: Keyed, attempt: Attempt): Promise<KeyedToolCall> {
    const { callId } = attempt;
    const sessionId = run.sessionId ?? mintSessionId();
    const context = { ...from, signal: new AbortController().signal };
    const prepared = await this.ports.calls
      .prepare({ ...request, sessionId, callId }, context)
      .catch((error: unknown) => {
        void this.settle(run, attempt);
        throw error;
      });
    let listener: (progress: ToolProgress) => void = () => undefined;
    const ended = prepared.run((progress) => listener(progress)).finally(() => void this.settle(run, attempt));
    ended.catch(() => undefined);
    return {
      context: prepared.context,
      run: (onProgress) => {
        listener = onProgress;
        return untilAborted(ended, from.signal);
      },
    };
  }

  /** Waits for what the journal will say; plans the call itself where whoever should have done so is gone. */
  private async attach(keyed: Keyed, onProgress: (progress: ToolProgress) => void): ReturnType<KeyedToolCall['run']> {
    const { request, from } = keyed;
    let { run } = keyed;
    for (;;) {
      const attempt = await this.attempt(run);
      const { callId, stored } = attempt;
      if (stored?.state === 'parked') return (await this.parked(stored, from)).run(onProgress);
      if (stored === undefined && (await this.takesOver(run))) {
        return (await this.start({ request, from, run }, attempt)).run(onProgress);
      }
      const outcome = await outcomeElsewhere(callId, from, this.ports, {
        mayWait: ({ state }) => state !== 'parked' && steadyNow() <= from.deadline.at,
        onAsked: (asked) => {
          if (from.questions !== 'hold') throw new ApprovalNeeded(asked);
          onProgress({ status: 'waiting_approval', asks: asked });
        },
      });
      // A call that never began is passed over: the key is left to the next one.
      if (outcome !== undefined && stored !== undefined && (await this.attempt(run)).callId === callId) {
        return { id: callId, sessionId: stored.sessionId, tool: { name: request.name }, outcome };
      }
      if (steadyNow() + askAgainMs.first > from.deadline.at) {
        throw new AppError(
          'tool_timeout',
          'The call is still in progress: repeat the request with the same Idempotency-Key',
        );
      }
      await delay(askAgainMs.first, undefined, { signal: from.signal });
      run = (await this.ports.runs.get(from.principal, run.id)) ?? run;
    }
  }

  /** @throws ApprovalNeeded while nobody has approved it */
  private async parked({ approvalId = '' }: StoredCall, from: ToolCaller): Promise<KeyedToolCall> {
    const approval = await this.ports.approvals.get(approvalId);
    if (approval === undefined) throw new AppError('approval_not_found', 'The approval of this call no longer exists');
    if (approval.state !== 'approved') throw new ApprovalNeeded(approval);
    return this.ports.calls.approved(approval, from);
  }

  /** The key's call as the journal has it; those that never began are passed over. */
  private async attempt(run: StoredRun): Promise<Attempt> {
    const known = run.answer?.['attempt'];
    for (let number = typeof known === 'number' ? known : 0; ; number += 1) {
      const callId = callIdOf(run.id, number);
      const stored = await this.ports.journal.get(callId);
      if (stored === undefined || !neverBegan(stored)) return { number, callId, stored };
    }
  }

  private async takesOver(run: StoredRun): Promise<boolean> {
    const { runs, gatewayId } = this.ports;
    if (this.mine.has(run.id)) return false;
    // Ours, but nobody here is at it any more: how it ended could not be written.
    const abandoned = run.state === 'running' && run.owner === gatewayId;
    if (!abandoned && run.state !== 'interrupted') return false;
    this.take(run.id);
    let taken = abandoned;
    try {
      taken ||= await runs.adopt(run.id, gatewayId);
      return taken;
    } finally {
      if (!taken) this.leave(run.id);
    }
  }

  /** The run ends with its call; where that never began, or waits for a person, the key is left to a retry. Never rejects. */
  private async settle(run: StoredRun, attempt: Attempt): Promise<void> {
    const { runs, journal, gatewayId, logger } = this.ports;
    const giveUpAt = steadyNow() + settlePatienceMs;
    for (let pause = askAgainMs.first; ; pause *= 2) {
      try {
        await runs.end(run.id, gatewayId, endOf(attempt, await journal.get(attempt.callId)));
        break;
      } catch (error) {
        if (steadyNow() + pause > giveUpAt) {
          logger.warn({ runId: run.id, error }, 'the end of a keyed tool call was not stored');
          break;
        }
        // Nobody waits for this: the store may take its time to come back.
        await delay(pause, undefined, { ref: false });
      }
    }
    this.leave(run.id);
  }

  private take(runId: string): void {
    this.mine.set(runId, this.ports.reserve(runId));
  }

  private leave(runId: string): void {
    this.mine.get(runId)?.();
    this.mine.delete(runId);
  }
}

function endOf(attempt: Attempt, stored: StoredCall | undefined): RunEnd {
  const waits = stored === undefined || stored.state === 'parked';
  if (!waits && !neverBegan(stored)) return { state: 'done', usage: noUsage };
  const next = waits ? attempt.number : attempt.number + 1;
  return { state: 'interrupted', usage: noUsage, answer: { attempt: next } };
}

/** Refused a place, or cancelled while it was planned: no worker can run it any more, none did. */
function neverBegan({ state, attempt, fence }: StoredCall): boolean {
  return state === 'cancelled' && attempt === 0 && fence === null;
}

function hashOf({ name, argumentsText, sessionId, timeoutMs }: KeyedToolCallRequest): string {
  const request = ['/api/tools/call', name, argumentsText, sessionId ?? null, timeoutMs ?? null];
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}

/** Every gateway knows the ids of a key's calls from its run alone. The first digit says that the store keeps them. */
function callIdOf(runId: string, attempt: number): string {
  const bytes = createHash('sha256').update(`${runId}\n${attempt}`).digest().subarray(0, 16);
  bytes[0] = bytes[0]! | 0x80;
  return `call_${bytes.toString('hex')}`;
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
