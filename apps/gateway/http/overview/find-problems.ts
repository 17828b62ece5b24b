// What is wrong, for the overview: as a code with facts, which a page says in its language, and as a sentence. Pure.
import type { HealthReport } from '#libs/health/health.js';
import type { ShownProcess } from '#libs/runs/processes/process-registry.js';
import type { ToolServerStatus } from '../../tools/tool-servers.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { problem } from '../openapi/overview-shapes.js';

export type Problem = Shown<typeof problem>;

export interface Looked {
  servers: readonly Pick<ToolServerStatus, 'name' | 'state' | 'reason'>[];
  workers: readonly ShownProcess[];
  audit: { enabled: boolean; isBroken: boolean | undefined };
  checks: HealthReport['checks'];
}

export interface NearBudget {
  principal: string;
  keyId: string | undefined;
  /** How much is used of the budget that is nearest to its end. */
  share: number;
}

/** From this share of a budget on, its end is near. */
export const nearShare = 0.8;
const maxBudgets = 20;
/** Checks of the health report that say what is found here in more detail, or what only an operator of one process needs. */
const ownChecks = new Set(['workers', 'servers']);

export function findProblems({ servers, workers, audit, checks }: Looked): Problem[] {
  const problems: Problem[] = [];
  const alive = workers.filter(({ isGone, draining }) => !isGone && !draining);
  if (alive.length === 0) {
    problems.push({ code: 'no_workers', severity: 'error', message: 'No worker is running: tools cannot run' });
  }
  for (const { id, ageMs } of workers.filter(({ isGone }) => isGone)) {
    const message = `Worker ${id} stopped without saying so`;
    problems.push({ code: 'worker_gone', severity: 'warning', message, worker: id, seen_ms_ago: Math.round(ageMs) });
  }
  // Without workers, no server has one.
  for (const { name, state, reason } of alive.length === 0 ? [] : servers) {
    if (state !== 'refused' && state !== 'unavailable') continue;
    const severity = state === 'refused' ? 'error' : 'warning';
    const because = reason === undefined ? '' : `: ${reason}`;
    const message = `Tool server ${name} is ${state}${because}`;
    problems.push({ code: `server_${state}`, severity, message, server: name, reason: reason ?? null });
  }
  if (!audit.enabled) {
    problems.push({
      code: 'audit_disabled',
      severity: 'warning',
      message: 'No audit rows are written (audit.enabled)',
    });
  }
  if (audit.isBroken === true) {
    const message = 'The audit is not as it was written: verify the whole';
    problems.push({ code: 'audit_broken', severity: 'error', message });
  }
  for (const { name, status, reason } of checks) {
    if (status === 'ok' || ownChecks.has(name)) continue;
    const severity = status === 'down' ? 'error' : 'warning';
    problems.push({
      code: 'check_failed',
      severity,
      message: `${name}: ${reason ?? status}`,
      check: name,
      reason: reason ?? null,
    });
  }
  return problems;
}

export const budgetProblems = (near: readonly NearBudget[]): Problem[] =>
  near.slice(0, maxBudgets).map(({ principal, keyId, share }) => {
    const percent = Math.floor(share * 100);
    const over = share >= 1;
    return {
      code: over ? 'budget_used_up' : 'budget_near_end',
      severity: over ? 'error' : 'warning',
      message: `${percent} % of the budget of ${principal} is used`,
      principal,
      key_id: keyId ?? null,
      share,
    };
  });
