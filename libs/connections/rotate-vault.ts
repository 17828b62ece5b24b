// Seals everything that is sealed anew, with the first key of the vault: afterwards the others can go. What a running process changes
// meanwhile stays as that process has sealed it.
import type { Database } from '#libs/postgres/open-database.js';
import type { SealedFor, Vault } from './vault.js';

export interface RotatedVault {
  sealed: number;
  /** Sealed with the first key already. */
  current: number;
  /** None of the keys opens them. */
  unreadable: number;
}

interface SealedTable {
  name: string;
  /** The columns of its primary key. */
  key: readonly [string, string];
  owner: string;
}

/** The owners as those who seal write them. */
const tables: readonly SealedTable[] = [
  {
    name: 'connections',
    key: ['principal', 'server'],
    owner: `array['connection', principal, server, issuer]`,
  },
  { name: 'connection_clients', key: ['issuer', 'redirect_uri'], owner: `array['client', issuer]` },
  { name: 'connection_flows', key: ['id', 'server'], owner: `array['flow', id, principal, server]` },
];
const batchRows = 500;

type SealedRow = { first: string; second: string; sealed: string; owner: SealedFor };

export async function rotateVault(
  database: Pick<Database, 'query'>,
  vault: Vault,
  signal: AbortSignal,
): Promise<RotatedVault> {
  const total = { sealed: 0, current: 0, unreadable: 0 };
  for (const { name, key, owner } of tables) {
    const columns = key.join(', ');
    let last = ['', ''];
    for (;;) {
      signal.throwIfAborted();
      const rows = await database.query<SealedRow>(
        `/* vault.read-${name} */ select ${key[0]} as first, ${key[1]} as second, sealed, ${owner} as owner from ${name}
         where sealed is not null and (${columns}) > ($1, $2) order by ${columns} limit ${batchRows}`,
        last,
      );
      if (rows.length === 0) break;
      last = [rows.at(-1)!.first, rows.at(-1)!.second];
      const next = rows.flatMap((row) => {
        if (vault.isCurrent(row.sealed)) {
          total.current++;
          return [];
        }
        try {
          return [{ ...row, next: vault.seal(vault.open(row.sealed, row.owner), row.owner) }];
        } catch {
          total.unreadable++;
          return [];
        }
      });
      const changed = await database.query(
        `/* vault.write-${name} */ update ${name} set sealed = new.next
         from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as new(first, second, before, next)
         where ${key[0]} = new.first and ${key[1]} = new.second and sealed = new.before returning 1`,
        [
          next.map(({ first }) => first),
          next.map(({ second }) => second),
          next.map(({ sealed }) => sealed),
          next.map((row) => row.next),
        ],
      );
      total.sealed += changed.length;
    }
  }
  return total;
}
