// Calls as tasks: each is the own call of a run that outlives its request, and its gateway. Here they are begun, found, followed and
// cancelled. A task belongs to its principal. How clients see it is in task-forms.ts.
import { Bell } from '#libs/concurrency/bell.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import type { RunTask, RunTasks } from '#libs/runs/listing/run-tasks.js';
import type { RunStore } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Wait } from '#libs/waits/wait.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { TurnAnswer } from '../../turn/fold-turn.js';
import type { TakeTurnEvents } from '../../turn/record.js';
import { type CancelPorts, cancelRun } from '../../turn/runs/cancel-run.js';
import { openWaits, type OwnCallPorts } from '../../turn/runs/own-call-waits.js';
import { storedError } from '../../turn/runs/run-errors.js';
import { turnOfOwnCall } from '../../turn/turn-request.js';
import type { Turns } from '../../turn/turns.js';

export interface TaskCallsPorts extends CancelPorts, Omit<OwnCallPorts, 'runs'> {
  turns: Pick<Turns, 'start'>;
  tasks: Pick<RunTasks, 'find' | 'page'>;
  runs: RunStore;
  /** How long runs are kept, and so tasks at most. */
  keptMs: number;
  logger: Logger;
}

export interface NewTask {
  name: string;
  argumentsText: string;
  sessionId: string;
  /** As the client asks for it. */
  ttlMs: number | undefined;
}

export interface BegunTask {
  id: string;
  /** Resolves when this gateway has done with the task: it has ended, or waits for people. */
  settled: Promise<void>;
}

/** A call as its task has ended it. */
export interface TaskOutcome {
  id: string;
  name: string;
  sessionId: string;
  server: string;
  outcome: ToolOutcome;
  /** The call was refused, so that no tool has seen it. */
  refused: boolean;
}

const leastTtlMs = 1_000;
/** Channels may lose messages. */
const lookMs = 1_000;

export class TaskCalls {
  constructor(private readonly ports: TaskCallsPorts) {}

  /** The task is stored when this resolves. `take` gets its events while it runs here. @throws AppError store_unavailable */
  async begin({ ttlMs, ...call }: NewTask, caller: RequestContext, take: TakeTurnEvents): Promise<BegunTask> {
    const { turns, keptMs, logger } = this.ports;
    const { sessionId, ...own } = call;
    const request = turnOfOwnCall({ ...own, timeoutMs: undefined, from: 'model' }, sessionId);
    // A task is let go of while it waits for people; but nobody could go on with that of a token, which is stored nowhere.
    if (caller.keyId === undefined && caller.access !== undefined) request.approval = 'hold';
    const stop = new AbortController();
    const started = await turns.start({
      request,
      // The task goes on when its request has been answered.
      context: { ...caller, questions: 'return', signal: stop.signal, abort: (reason) => stop.abort(reason) },
      idempotencyKey: undefined,
      taskTtlMs: Math.round(Math.min(Math.max(ttlMs ?? keptMs, leastTtlMs), keptMs)),
    });
    const settled = started.run(take).catch((error: unknown) => {
      if (!(error instanceof ApprovalNeeded)) logFailure(logger, toAppError(error), caller);
    });
    return { id: started.runId, settled };
  }

  /** @throws AppError not_found, also for a task of somebody else */
  async find(id: string, { principal }: RequestContext): Promise<RunTask> {
    const task = await this.ports.tasks.find(principal, id);
    if (task === undefined) throw new AppError('not_found', `There is no task '${id.slice(0, 64)}'`);
    return task;
  }

  /** Newest first. */
  page({ principal }: RequestContext, limit: number, before?: string): Promise<RunTask[]> {
    return this.ports.tasks.page(principal, limit, before);
  }

  /** What people have to decide or to answer before the task can go on. */
  waits(task: RunTask, caller: RequestContext): Promise<Wait[]> {
    return task.waits ? openWaits(task, { ...caller, questions: 'return' }, this.ports) : Promise.resolve([]);
  }

  /** The task must have ended. @throws AppError why it ended without an outcome */
  async outcome({ id }: RunTask, { principal }: RequestContext): Promise<TaskOutcome> {
    const run = await this.ports.runs.get(principal, id);
    if (run?.state === 'failed') throw storedError(run);
    const call = (await this.ports.runs.rounds(id)).at(-1)?.calls[0];
    if (run?.state !== 'done' || call?.outcome === undefined) throw new AppError('cancelled', 'The task was cancelled');
    const { toolExecution } = (run.answer ?? {}) as unknown as Partial<TurnAnswer>;
    const { name, sessionId, server, outcome } = call;
    return { id: call.id, name, sessionId, server, outcome, refused: toolExecution?.executed === false };
  }

  /** Resolves with the task once it has ended, or after a while. */
  async cancel({ id }: RunTask, caller: RequestContext): Promise<RunTask> {
    const run = await this.ports.runs.get(caller.principal, id);
    if (run !== undefined) await cancelRun(run, this.ports);
    return this.find(id, caller);
  }

  /**
   * Shows the task to `see`, again whenever it may have changed, until that returns a value.
   * @throws AppError not_found; tool_timeout when the time of the caller is up; the signal's reason
   */
  async until<Seen>(
    id: string,
    caller: RequestContext,
    see: (task: RunTask) => Promise<Seen | undefined>,
  ): Promise<Seen> {
    const { signal, deadline } = caller;
    const news = new Bell();
    const stop = await this.ports.channels.subscribe(channelNames.runEvents(id), () => news.ring());
    try {
      for (;;) {
        signal.throwIfAborted();
        const seen = await see(await this.find(id, caller));
        if (seen !== undefined) return seen;
        if (steadyNow() > deadline.at) throw new AppError('tool_timeout', 'The task has not ended yet: ask again');
        await news.heard(lookMs, signal);
      }
    } finally {
      await stop();
    }
  }
}
