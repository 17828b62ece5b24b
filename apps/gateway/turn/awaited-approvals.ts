// The approvals that a round waits for: all requested together, each awaited before its call runs. If the turn is stopped,
// the end of its run decides about them: a run that can be continued finds them unchanged.
import { refusedOutcome } from '#libs/approvals/approval.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Approvals } from '../govern/approvals.js';
import type { ToolRunner } from './dispatch/tool-runner.js';
import { toolOfCall } from '../tools/tool-of-call.js';
import { approvalEvent } from './ask-approval.js';
import type { CallEvents } from './call-events.js';
import type { HeldTime } from './held-time.js';
import type { TurnCall } from './plan-calls.js';

export interface RunCallsPorts {
  runner: ToolRunner;
  approvals: Pick<Approvals, 'decided'>;
}

export class AwaitedApprovals {
  private readonly over = new AbortController();
  private readonly approved = new Map<TurnCall, Promise<TurnCall>>();

  constructor(
    calls: readonly TurnCall[],
    private readonly ports: RunCallsPorts,
    private readonly events: CallEvents,
    private readonly held: HeldTime,
  ) {
    for (const call of calls) {
      if (call.awaits === undefined) continue;
      const approved = this.whenApproved(call, call.awaits);
      // The error surfaces where the promise is awaited.
      approved.catch(() => undefined);
      this.approved.set(call, approved);
    }
  }

  /** The call as approved, or with the outcome that explains why it does not run. Its deadline starts at the approval. */
  of(call: TurnCall): Promise<TurnCall> {
    return this.approved.get(call)!;
  }

  close(): void {
    if (this.approved.size > 0) this.over.abort();
  }

  private async whenApproved(
    { planned, runs }: TurnCall,
    { approvalId: id, tool }: NonNullable<TurnCall['awaits']>,
  ): Promise<TurnCall> {
    if (runs === undefined) throw new Error('a parked call that could not run');
    const { approvals, runner } = this.ports;
    const { context, policyRule } = runs;
    const since = steadyNow();
    const goOn = this.held.enter();
    const signal = AbortSignal.any([context.signal, this.over.signal]);
    const approval = await approvals
      .decided(id, signal, (waiting) => {
        this.events.add(approvalEvent(waiting));
        this.events.add({ type: 'tool_progress', callId: planned.id, status: 'waiting_approval' });
      })
      .finally(goOn);
    if (approval.state !== 'approved') return { planned: { ...planned, outcome: refusedOutcome(approval) } };
    const waitedMs = steadyNow() - since;
    const later = { ...context, deadline: context.deadline + waitedMs };
    const how = { again: true, ...(policyRule === undefined ? {} : { policyRule }) };
    return { planned, runs: runner.plan(toolOfCall(tool, approval.arguments), approval.arguments, later, how) };
  }
}
