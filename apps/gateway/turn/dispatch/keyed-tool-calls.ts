// Tool calls with an Idempotency-Key. The key belongs to a run without rounds; only the journal knows what became of the call. A
// call that never began may be planned again under a new id; any other call is only waited for.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { Journal, RunEnd, RunStore, StoredCall, StoredRun } from '#libs/runs/run-store.js';
import type { WriteLater } from '#libs/runs/write-later.js';
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
  approvals: Pick<WaitStore, 'get'>;
  questions: Pick<SamplingDesk, 'open'>;
  gatewayId: string;
  /** Counts a run as under way here, so that it is not interrupted, until the returned function is called. */
  reserve: (runId: string) => () => void;
  later: Pick<WriteLater, 'add'>;
  logger: Logger;
}

export interface RepeatableToolCallRequest extends ToolCallRequest {
  /** Absent for an ordinary call, which cannot be repeated. */
  idempotencyKey?: string;
}

type KeyedToolCallRequest = ToolCallRequest & { idempotencyKey: string };

export interface KeyedToolCall {
  context: Pick<CallContext, 'callId'>;
  run(
    onProgress: (progress: ToolProgress) => void,
  ): Promise<Omit<EndedToolCall, 'tool'> & { tool: Pick<CatalogTool, 'name'> }>;
}

/** The key's current call: the number of earlier calls, none of which began, and its row once it is planned. */
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
  /** By run id: runs whose call this gateway plans or waits for. No other request here may take over such a run. */
  private readonly mine = new Map<string, () => void>();

  constructor(private readonly ports: KeyedToolCallPorts) {}

  /** @throws AppError idempotency_mismatch, and the errors of DirectCalls.prepare */
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

  /** Plans and begins the call. The caller may leave and come back: only the call's own deadline ends it. */
  private async start({ request, from, run }: Keyed, attempt: Attempt): Promise<KeyedToolCall> {
    const { callId } = attempt;
    const sessionId = run.sessionId ?? mintSessionId();
    const context = { ...from, signal: new AbortController().signal };
    const prepared = await this.ports.calls
      .prepare({ ...request, sessionId, callId }, context)
      .catch((error: unknown) => {
        this.settle(run, attempt);
        throw error;
      });
    let listener: (progress: ToolProgress) => void = () => undefined;
    const ended = prepared.run((progress) => listener(progress)).finally(() => this.settle(run, attempt));
    ended.catch(() => undefined);
    return {
      context: prepared.context,
      run: (onProgress) => {
        listener = onProgress;
        return untilAborted(ended, from.signal);
      },
    };
  }

  /** Waits for the outcome in the journal. Plans the call here if the gateway that should have planned it is gone. */
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
      // A call that never began does not count: the key's next call is awaited.
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

  /** @throws ApprovalNeeded until somebody has approved the call */
  private async parked({ approvalId = '' }: StoredCall, from: ToolCaller): Promise<KeyedToolCall> {
    const approval = await this.ports.approvals.get(approvalId);
    if (approval === undefined) throw new AppError('approval_not_found', 'The approval of this call no longer exists');
    if (approval.state !== 'approved') throw new ApprovalNeeded(approval);
    return this.ports.calls.approved(approval, from);
  }

  /** The key's current call, by the journal; calls that never began are skipped. */
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
    // The run belongs to this gateway, but no request here works on it: its end could not be written.
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

  /** Ends the run with its call. If the call never began, or waits for a person, a retry continues the run. */
  private settle(run: StoredRun, attempt: Attempt): void {
    const { runs, journal, gatewayId, later } = this.ports;
    const write = async () => runs.end(run.id, gatewayId, endOf(attempt, await journal.get(attempt.callId)));
    void write()
      .catch(() => later.add(run.id, write, settlePatienceMs))
      .finally(() => this.leave(run.id));
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

/** The call was refused a place, or cancelled while planned: no worker ran it, and none can any more. */
function neverBegan({ state, attempt, fence }: StoredCall): boolean {
  return state === 'cancelled' && attempt === 0 && fence === null;
}

function hashOf({ name, argumentsText, sessionId, timeoutMs }: KeyedToolCallRequest): string {
  const request = ['/api/tools/call', name, argumentsText, sessionId ?? null, timeoutMs ?? null];
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}

/** Call ids follow from the run id, so that every gateway knows them. The first digit marks ids of stored calls. */
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
