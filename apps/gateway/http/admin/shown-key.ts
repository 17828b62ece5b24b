// A key as the API and `npm run keys` show it: never its hash, and the key itself only right after its creation.
import type { StoredKey } from '#libs/access/key-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { type BudgetUse, budgetUse } from '#libs/usage/budget-use.js';
import type { Spent } from '#libs/usage/usage-store.js';

export function showKey(stored: StoredKey): JsonObject {
  const { id, state, prefix, owner, name, roles, scopes, models, tools, limits, budgets } = stored;
  const time = (date: Date | null) => date?.toISOString() ?? null;
  return {
    id,
    state,
    prefix,
    owner,
    name,
    roles: [...roles],
    scopes: [...scopes],
    models: models === undefined ? null : [...models],
    tools: tools as JsonObject,
    limits,
    budgets,
    created_at: time(stored.createdAt),
    expires_at: time(stored.expiresAt),
    last_used_at: time(stored.lastUsedAt),
    revoked_at: time(stored.revokedAt),
    replaced_by: stored.replacedBy,
  };
}

export type BudgetUses = Record<'day' | 'month', BudgetUse>;

/** `limits`: of the day and of the month, USD. */
export function budgetUses(
  spent: Pick<Spent, 'dayNanoUsd' | 'monthNanoUsd' | 'atMs'>,
  limits: { day: number | null | undefined; month: number | null | undefined },
): BudgetUses {
  const at = new Date(spent.atMs);
  const use = (period: 'day' | 'month', nanoUsd: number) =>
    budgetUse({ period, limitUsd: limits[period] ?? undefined, nanoUsd, at });
  return { day: use('day', spent.dayNanoUsd), month: use('month', spent.monthNanoUsd) };
}
