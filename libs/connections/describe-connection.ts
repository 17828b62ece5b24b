// How a connection stands, for whom it belongs to.
import { type ConnectionSecrets, connectionOwner } from './connection-secrets.js';
import type { ConnectionState, StoredConnection } from './connection-store.js';
import type { ConnectedServer } from './issuer.js';
import type { Vault } from './vault.js';

export const shownStates = ['connected', 'needed', 'expired', 'error'] as const satisfies readonly (
  ConnectionState | 'needed'
)[];

export interface DescribedConnection {
  state: (typeof shownStates)[number];
  scopes: readonly string[];
  /** What the server has asked for in addition. */
  wantedScopes: readonly string[];
  account?: string;
  connectedAt?: Date;
  /** When it ends; absent if its tokens are renewed. */
  expiresAt?: Date;
}

/** `error`: its secrets cannot be read, because the key of the vault is another one. */
export function describeConnection(
  server: ConnectedServer,
  row: StoredConnection | undefined,
  vault: Pick<Vault, 'open'>,
): DescribedConnection {
  // A connection is with an address: another one begins anew.
  const isMade = row?.connectedAt != null && row.resource === server.url;
  if (!isMade) return { state: 'needed', scopes: [], wantedScopes: [] };
  const { scopes, wantedScopes, account, connectedAt, lastsMs } = row;
  const common = {
    scopes,
    wantedScopes,
    ...(account === null ? {} : { account }),
    ...(connectedAt === null ? {} : { connectedAt }),
  };
  if (row.state !== 'connected' || row.sealed === null) {
    return { ...common, state: row.state === 'error' ? 'error' : 'expired' };
  }
  let secrets: ConnectionSecrets;
  try {
    secrets = vault.open(row.sealed, connectionOwner(row, row.issuer)) as ConnectionSecrets;
  } catch {
    return { ...common, state: 'error' };
  }
  const isRenewed = secrets.kind !== 'oauth' || secrets.refreshToken !== undefined;
  if (isRenewed || row.expiresAt === null) return { ...common, state: 'connected' };
  return { ...common, state: (lastsMs ?? 0) > 0 ? 'connected' : 'expired', expiresAt: row.expiresAt };
}
