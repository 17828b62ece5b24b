// A key as the API and `npm run keys` show it: never its hash, and the key itself only right after its creation.
import type { StoredKey } from '#libs/access/key-store.js';
import type { JsonObject } from '#libs/schemas/json.js';

export function showKey(stored: StoredKey): JsonObject {
  const { id, prefix, owner, name, roles, scopes, models, tools, limits, budgets } = stored;
  const time = (date: Date | null) => date?.toISOString() ?? null;
  return {
    id,
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
