// Limits how many calls of a principal wait for an approval at once: the calls that all gateways have written, and those that this
// gateway is about to write. Only calls that several gateways write in the same moment can exceed the limit.
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';

/** After this time a plan has been written or has failed. */
const writtenAfterMs = 30_000;

export interface ApprovalRoomParts {
  store: Pick<WaitStore, 'waitingOf'>;
  limit: number;
  metrics: Pick<Metrics, 'rateLimited'>;
}

export class ApprovalRoom {
  /** By principal: the ids about to be written, and since when (`performance.now()`). */
  private readonly planned = new Map<string, Map<string, number>>();

  constructor(private readonly parts: ApprovalRoomParts) {}

  /** Takes a place for an approval that is about to be planned. Undefined if there was a place. @throws AppError store_unavailable */
  async refusalOf(principal: string, approvalId: string): Promise<ToolOutcome | undefined> {
    const { store, limit, metrics } = this.parts;
    const { waiting, written } = await store.waitingOf(principal, this.plannedOf(principal));
    const planned = this.planned.get(principal) ?? new Map<string, number>();
    for (const id of written) planned.delete(id);
    if (waiting + planned.size < limit) {
      this.planned.set(principal, planned.set(approvalId, performance.now()));
      return undefined;
    }
    metrics.rateLimited.inc({ limit: 'waiting_approvals' });
    const message = `${limit} of your calls are already waiting for an approval`;
    return failedOutcome('denied', 'too_many_approvals', message);
  }

  private plannedOf(principal: string): string[] {
    const now = performance.now();
    for (const [each, ids] of this.planned) {
      for (const [id, since] of ids) if (now - since > writtenAfterMs) ids.delete(id);
      if (ids.size === 0) this.planned.delete(each);
    }
    return [...(this.planned.get(principal)?.keys() ?? [])];
  }
}
