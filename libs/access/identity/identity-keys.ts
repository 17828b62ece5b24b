// The keys of statements about callers (`identity: jwt`), in the database that workers and gateways share. Workers sign with the
// private halves, gateways publish the public ones. They are replaced weekly, and a new one is published for an hour before it
// signs, so that tool servers that keep the published set have it by then.
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Database } from '#libs/postgres/open-database.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';

export const statementAlgorithm = 'ES256';

export interface StatementKey {
  id: string;
  key: CryptoKey;
}

interface StoredIdentityKey {
  id: string;
  privateJwk: string;
}

/** A worker asks for the key again after this time, a gateway for the published ones. */
const signMs = 3_600_000;
const publishMs = 1_000;

/** The one to sign with comes first. Two processes may make a key at the same time: both are good. */
const inUse = `/* identity-keys.in-use */ with
  gone as (delete from identity_keys where made_at < clock_timestamp() - interval '9 days'),
  made as (
    insert into identity_keys (id, private_jwk) select $1::uuid, $2
    where not exists (select from identity_keys where made_at > clock_timestamp() - interval '7 days')
    returning id, private_jwk, made_at)
  select id::text, private_jwk as "privateJwk"
  from (select * from made union all select id, private_jwk, made_at from identity_keys) as keys
  where made_at > clock_timestamp() - interval '9 days'
  order by made_at between clock_timestamp() - interval '8 days' and clock_timestamp() - interval '1 hour' desc, made_at desc`;

export class IdentityKeys {
  private readonly signing = new Remembered(async () => this.importFirst(await this.read()), signMs);
  private readonly published = new Remembered(async () => (await this.read()).map(publicHalf), publishMs);

  constructor(private readonly database: Pick<Database, 'query'>) {}

  /** @throws AppError store_unavailable */
  toSign(): Promise<StatementKey> {
    return this.signing.get();
  }

  /** The public halves, as a JWKS has them. @throws AppError store_unavailable */
  toPublish(): Promise<JWK[]> {
    return this.published.get();
  }

  private async read(): Promise<StoredIdentityKey[]> {
    const { privateKey } = await generateKeyPair(statementAlgorithm, { extractable: true });
    return this.database.query<StoredIdentityKey>(inUse, [uuidv7(), JSON.stringify(await exportJWK(privateKey))]);
  }

  private async importFirst([first]: StoredIdentityKey[]): Promise<StatementKey> {
    const { id, privateJwk } = first!;
    return { id, key: (await importJWK(JSON.parse(privateJwk) as JWK, statementAlgorithm)) as CryptoKey };
  }
}

function publicHalf({ id, privateJwk }: StoredIdentityKey): JWK {
  const { kty, crv, x, y } = JSON.parse(privateJwk) as JWK;
  return { kty, crv, x, y, kid: id, alg: statementAlgorithm, use: 'sig' };
}

/** What was read, for a time. Concurrent callers share a read; a failed one is repeated. */
class Remembered<T> {
  private last: { value: Promise<T>; until: number } | undefined;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly ms: number,
  ) {}

  get(): Promise<T> {
    const now = performance.now();
    if (this.last !== undefined && now < this.last.until) return this.last.value;
    const value = this.read();
    this.last = { value, until: now + this.ms };
    value.catch(() => (this.last = undefined));
    return value;
  }
}
