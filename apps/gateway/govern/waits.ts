// Shows what calls wait for, takes decisions, waits for them, and ends what nobody decided about in time. The store settles which
// decision counts, for all gateways.
import type { Logger } from '#libs/logging/logger.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Wait, WaitDecision, WaitState } from '#libs/waits/wait.js';
import type { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { isForPeople, stopClocks } from '#libs/waits/wait-kinds.js';
import type { Approver, WaitQuery, WaitStore } from '#libs/waits/wait-store.js';
import type { ApprovalWebhook } from './approval-webhook.js';
import { checkDecision, type DecisionPorts } from './check-decision.js';

export interface WaitPorts extends DecisionPorts {
  store: WaitStore;
  announcements: WaitAnnouncements;
  webhook: ApprovalWebhook | undefined;
  /** Called after a decision: a detached run may be due. */
  onDecided: () => void;
  /** Counts the end of a wait for people, once. */
  onEnded: (state: WaitState) => void;
  clocks: Pick<TurnClocks, 'enter'>;
  /** Whether a tool server is configured at which callers sign in. */
  hasSignIns?: boolean;
  logger: Logger;
}

export const approverRole = 'approver';

const sweepMs = 2_000;
const forgetMs = 600_000;
const maxSwept = 200;

export class Waits {
  private readonly timers: NodeJS.Timeout[] = [];
  private sweeping: Promise<void> | undefined;

  constructor(private readonly ports: WaitPorts) {}

  async start(): Promise<void> {
    await this.ports.announcements.start();
    this.timers.push(setInterval(() => void this.sweep(), sweepMs).unref());
    this.timers.push(setInterval(() => void this.ports.store.forget().catch(() => undefined), forgetMs).unref());
  }

  async close(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await this.ports.announcements.close();
    await this.sweeping;
    await this.ports.webhook?.close();
  }

  /** Waits for people: the caller's, or everybody's if the caller may decide for others. @throws AppError approval_not_found */
  async get(id: string, caller: RequestContext): Promise<Wait> {
    const wait = await this.ports.store.get(id);
    const isShown = wait !== undefined && isForPeople(wait);
    if (isShown && (wait.principal === caller.principal || decidesForOthers(caller))) return wait;
    throw new AppError('approval_not_found', `Approval '${id.slice(0, 64)}' not found`);
  }

  async list(query: WaitQuery, caller: RequestContext): Promise<Wait[]> {
    if (decidesForOthers(caller)) return this.ports.store.list(query);
    const { principal } = caller;
    if (query.principal !== undefined && query.principal !== principal) return [];
    return this.ports.store.list({ ...query, principal });
  }

  /** @throws AppError approval_not_found, approval_already_decided, invalid_tool_arguments, invalid_value, tool_denied */
  async decide(id: string, decision: WaitDecision, caller: RequestContext): Promise<Wait> {
    const { store, announcements, onDecided, onEnded } = this.ports;
    const wait = await this.get(id, caller);
    // The state is checked first, so that a late approver gets no errors about arguments.
    if (wait.state !== 'waiting') throw alreadyDecided(wait);
    const decided = await store.decide(
      wait,
      await checkDecision(wait, decision, this.ports, caller),
      approverOf(caller),
    );
    if (decided === undefined) {
      await this.sweep();
      throw alreadyDecided(await this.get(id, caller));
    }
    onEnded(decided.state);
    await announcements.announce(id);
    onDecided();
    return decided;
  }

  /** The principal has a connection with the server now: its calls that waited for that may run. */
  async connected(principal: string, server: string, from: Omit<Approver, 'principal'> = unnamed): Promise<void> {
    const { store, announcements, onDecided, onEnded } = this.ports;
    for (let after = ''; ;) {
      const waiting = await store.signInsOf(principal, server, after, maxSwept);
      for (const wait of waiting) {
        const settled = await store.decide(wait, { decision: 'approve' }, { ...from, principal });
        if (settled === undefined) continue;
        onEnded(settled.state);
        await announcements.announce(wait.id);
      }
      if (waiting.length < maxSwept) break;
      after = waiting.at(-1)!.id;
    }
    onDecided();
  }

  /**
   * Waits until people have decided, or it is too late. The caller's time stands still meanwhile. `onWaiting` is called once if
   * nobody has decided yet.
   * @throws the signal's reason
   */
  async decided(
    id: string,
    { signal, deadline }: Pick<RequestContext, 'signal' | 'deadline'>,
    onWaiting: (wait: Wait) => void = () => undefined,
  ): Promise<Wait> {
    const goOn = stopClocks({ answeredBy: 'people' }, { turn: deadline });
    let leave: (() => void) | undefined;
    try {
      return await this.ports.announcements.until(id, signal, async (wait) => {
        if (wait === undefined || wait.state !== 'waiting') return wait;
        if (leave === undefined) onWaiting(wait);
        // Waiting does not count toward the turn's own time.
        leave ??= this.ports.clocks.enter(wait.runId ?? undefined);
        if (wait.expiresAt.getTime() <= Date.now()) await this.sweep();
        return undefined;
      });
    } finally {
      leave?.();
      goOn();
    }
  }

  /** Called after a new approval has been written. */
  notify(): void {
    this.ports.webhook?.send();
  }

  /** Runs one sweep at a time; a failed sweep is repeated a moment later. */
  private sweep(): Promise<void> {
    return (this.sweeping ??= this.endLapsed()
      .catch((error: unknown) => this.ports.logger.debug({ error }, 'expired approvals could not be ended'))
      .finally(() => (this.sweeping = undefined)));
  }

  /** Ends a wait that nobody will decide about. */
  async end(wait: Wait, state: Exclude<WaitState, 'waiting' | 'approved'>): Promise<void> {
    const { store, announcements, onEnded } = this.ports;
    const closed = await store.close(wait, state);
    if (closed && isForPeople(wait)) onEnded(state);
    await announcements.announce(wait.id);
  }

  private async endLapsed(): Promise<void> {
    const { store, webhook } = this.ports;
    for (const wait of await store.lapsed(maxSwept)) {
      await this.end(wait, wait.state as 'denied' | 'expired' | 'cancelled');
    }
    if (this.ports.hasSignIns === true) {
      for (const { principal, server } of await store.signedIn(maxSwept)) await this.connected(principal, server);
    }
    webhook?.send();
  }
}

/** The end of a wait that no request of the API brought about. */
const unnamed = { requestId: '' };

/** Without keys, all callers are the same principal. */
function decidesForOthers({ access, roles }: RequestContext): boolean {
  return roles?.includes(approverRole) === true || access?.scopes.includes('admin') === true;
}

function approverOf({ principal, requestId, keyId, ip }: RequestContext): Approver {
  return { principal, requestId, ...(keyId === undefined ? {} : { keyId }), ...(ip === undefined ? {} : { ip }) };
}

function alreadyDecided({ state, decidedBy }: Wait): AppError {
  const how = state === 'waiting' ? 'can no longer be decided' : `is ${state} already`;
  const who = decidedBy === null ? '' : ` (by ${decidedBy})`;
  return new AppError('approval_already_decided', `This approval ${how}${who}`);
}
