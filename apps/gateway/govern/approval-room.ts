// Which approval a call waits for that the policy lets run only once somebody has approved it. Limits how many calls of a principal wait
// at once: the calls that all gateways have written, and those that this gateway is about to write. Only calls that several gateways
// write in the same moment can exceed the limit.
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { PolicyDecision } from '#libs/policy/decision.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { mintApprovalId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { NewApproval, Wait } from '#libs/waits/wait.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { ApprovalSettings } from './decide.js';

/** After this time a plan has been written or has failed. */
const writtenAfterMs = 30_000;

export interface ApprovalRoomParts {
  store: Pick<WaitStore, 'waitingOf' | 'takeUnused'>;
  settings: ApprovalSettings;
  limit: number;
  metrics: Pick<Metrics, 'rateLimited'>;
}

interface ApprovableCall {
  id: string;
  context: Pick<CallContext, 'principal' | 'runId'>;
  tool: Pick<CatalogTool, 'name' | 'definitionHash'>;
  arguments: JsonObject;
}

/** An approval of the call's own; the one that was given to a call like it, which found no place; or why the call is refused. */
export type NeededApproval = { asked: NewApproval } | { given: Wait } | { refusal: ToolOutcome };

export class ApprovalRoom {
  /** By principal: the ids about to be written, and since when (`performance.now()`). */
  private readonly planned = new Map<string, Map<string, number>>();

  constructor(private readonly parts: ApprovalRoomParts) {}

  /**
   * Call this once, right before the call is planned. `sessionId`: absent if the caller names none.
   * @throws AppError store_unavailable
   */
  async approvalOf(call: ApprovableCall, { reason }: PolicyDecision, sessionId?: string): Promise<NeededApproval> {
    const { store, settings } = this.parts;
    const { principal, runId } = call.context;
    const { name, definitionHash } = call.tool;
    const argumentsHash = canonicalHash(call.arguments);
    const like = { principal, sessionId, name, definitionHash, argumentsHash, inRun: runId !== undefined };
    const given = await store.takeUnused(call.id, like);
    if (given !== undefined) return { given };
    const id = mintApprovalId();
    const refusal = await this.refusalOf(principal, id);
    if (refusal !== undefined) return { refusal };
    return { asked: { id, argumentsHash, ...settings, ...(reason === undefined ? {} : { reason }) } };
  }

  private async refusalOf(principal: string, approvalId: string): Promise<ToolOutcome | undefined> {
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
