// Tool calls of the tools API. A call with an Idempotency-Key is a turn without a model, stored and continued as any other turn;
// here are its request, its progress and its answer. A call without a key is run once, for a caller that waits.
import { allowsTool } from '#libs/access/access.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import type { Wait } from '#libs/waits/wait.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolExecution, TurnEvent } from '#libs/schemas/turn-event.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { Waits } from '../../govern/waits.js';
import type { ToolCatalog } from '../../tools/tool-catalog.js';
import type { TakeTurnEvents } from '../record.js';
import type { StartedTurn } from '../runs/started-turn.js';
import type { Turns } from '../turns.js';
import { turnOfOwnCall } from '../turn-request.js';
import { type ElsewherePorts, outcomeElsewhere, progressEvents } from '../wait.js';
import {
  type DirectCalls,
  type EndedToolCall,
  failureOf,
  type PreparedToolCall,
  type ToolCallRequest,
} from './call-tool.js';
import type { ToolProgress } from './tool-runner.js';

export interface KeyedToolCallPorts extends ElsewherePorts {
  calls: Pick<DirectCalls, 'prepare' | 'settled'>;
  turns: Pick<Turns, 'start'>;
  catalog: Pick<ToolCatalog, 'find'>;
  approvals: Pick<WaitStore, 'get'>;
  decisions: Pick<Waits, 'decided'>;
}

export interface RepeatableToolCallRequest extends ToolCallRequest {
  /** Absent for an ordinary call, which cannot be repeated. */
  idempotencyKey?: string;
}

export interface BegunToolCall {
  /** The id of the call; of its run, until a gateway has planned the call. */
  readonly id: string;
  /** The run of a call with a key: its events can be read, it can be cancelled. */
  readonly runId?: string;
  /** `emit` gets the progress of the call, and what it waits for. @throws AppError, ApprovalNeeded */
  run(emit: (event: TurnEvent) => void): Promise<Omit<EndedToolCall, 'tool'> & { tool: Pick<CatalogTool, 'name'> }>;
}

export class KeyedToolCalls {
  constructor(private readonly ports: KeyedToolCallPorts) {}

  /** @throws AppError idempotency_mismatch; the errors of DirectCalls.prepare */
  async prepare(
    { idempotencyKey, ...request }: RepeatableToolCallRequest,
    from: StoppableContext,
  ): Promise<BegunToolCall> {
    const { calls, turns, catalog } = this.ports;
    const { name, argumentsText, sessionId, timeoutMs } = request;
    const found = catalog.find(name);
    // What a key of the API does not allow is refused before its Idempotency-Key counts.
    if (idempotencyKey === undefined || (found !== undefined && !allowsTool(from.access, found))) {
      const prepared = await calls.prepare(request, from);
      return { id: prepared.context.callId, run: (emit) => this.runOnce(prepared, from, emit) };
    }
    const turn = turnOfOwnCall({ name, argumentsText, timeoutMs }, sessionId);
    const begin = async () => turns.start({ request: turn, context: from, idempotencyKey });
    return new KeyedToolCall({ started: await begin(), begin }, name, from, this.ports);
  }

  /** A caller that stays waits for its sign-in, after which the call begins anew. */
  private async runOnce(
    { context, run }: PreparedToolCall,
    from: RequestContext,
    emit: (event: TurnEvent) => void,
  ): Promise<EndedToolCall> {
    const onProgress = (progress: ToolProgress) => progressEvents(context.callId, progress).forEach(emit);
    try {
      return await run(onProgress);
    } catch (error) {
      const { calls, decisions } = this.ports;
      const ended = await untilSignedIn(error, from, decisions, onProgress);
      return this.runOnce(await calls.settled(ended, from), from, emit);
    }
  }
}

/**
 * For a caller that stays while its call waits for a sign-in, and is told so: the end of the wait.
 * @throws `error` in any other case
 */
function untilSignedIn(
  error: unknown,
  from: RequestContext,
  decisions: KeyedToolCallPorts['decisions'],
  onProgress: (progress: ToolProgress) => void,
): Promise<Wait> {
  const wait = from.questions === 'hold' && error instanceof ApprovalNeeded ? error.approval : undefined;
  if (wait?.kind !== 'sign_in') throw error;
  onProgress({ status: 'waiting_approval', asks: wait });
  return decisions.decided(wait.id, from);
}

type StartedRun = Pick<StartedTurn, 'runId' | 'run'>;

class KeyedToolCall implements BegunToolCall {
  id: string;
  readonly runId: string;
  private execution: ToolExecution | undefined;

  constructor(
    /** `begin` continues the run of the call. */
    private readonly turn: { started: StartedRun; begin: () => Promise<StartedRun> },
    private readonly name: string,
    private readonly from: RequestContext,
    private readonly ports: KeyedToolCallPorts,
  ) {
    this.id = this.runId = turn.started.runId;
  }

  async run(emit: (event: TurnEvent) => void): ReturnType<BegunToolCall['run']> {
    const { from, name, turn } = this;
    try {
      await turn.started.run((batch) => this.take(batch, emit));
    } catch (error) {
      const onProgress = (progress: ToolProgress) => progressEvents(this.id, progress).forEach(emit);
      await untilSignedIn(error, from, this.ports.decisions, onProgress);
      turn.started = await turn.begin();
      return this.run(emit);
    }
    from.signal.throwIfAborted();
    const mayWait = () => steadyNow() <= from.deadline.at;
    const { id } = this;
    const outcome = await outcomeElsewhere(id, from, this.ports, { mayWait, onAsked: () => undefined });
    if (outcome === undefined || this.execution === undefined) {
      throw new AppError(
        'tool_timeout',
        'The outcome is not known yet: repeat the request with the same Idempotency-Key',
      );
    }
    // A refused call never had a tool's result, which a stream would show: its answer is an error with a status.
    if (!this.execution.executed) throw failureOf({ name }, outcome);
    return { id, sessionId: this.execution.session_id, tool: { name }, outcome };
  }

  /** A run that is followed may have been begun for a caller that stays while it is asked. */
  private async take(batch: Parameters<TakeTurnEvents>[0], emit: (event: TurnEvent) => void): Promise<void> {
    for (const { event } of batch) {
      if (event.type === 'tool_call') this.id = event.id ?? this.id;
      else if (event.type === 'done') this.execution = event.toolExecution;
      else if (event.type === 'approval_required' && this.from.questions !== 'hold') {
        const asked = await this.ports.approvals.get(event.approval.id);
        if (asked?.state === 'waiting') throw new ApprovalNeeded(asked);
      } else if (event.type === 'tool_progress' || event.type === 'approval_required') emit(event);
    }
  }
}
