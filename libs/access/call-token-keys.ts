// The keys of call tokens, in the database that workers and gateways share. They are replaced daily and removed two days
// later, so that an old copy of the database signs nothing.
import { randomBytes } from 'node:crypto';
import type { Database } from '#libs/postgres/open-database.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { SigningKey } from './call-token.js';

/** A worker asks for the newest key again after this time. */
const useMs = 3_600_000;
const maxKnown = 16;

/** Two workers may make a key at the same time: both are good. */
const newest = `/* call-tokens.newest */ with
  gone as (delete from call_token_keys where made_at < clock_timestamp() - interval '3 days'),
  made as (
    insert into call_token_keys (id, secret) select $1::uuid, $2
    where not exists (select from call_token_keys where made_at > clock_timestamp() - interval '1 day')
    returning id, secret, made_at)
  select id::text, secret from (select * from made union all select id, secret, made_at from call_token_keys) as keys
  order by made_at desc limit 1`;

export class CallTokenKeys {
  private current: { key: Promise<SigningKey>; until: number } | undefined;
  private readonly known = new Map<string, SigningKey>();

  constructor(private readonly database: Pick<Database, 'query'>) {}

  /** The key to sign with. @throws AppError store_unavailable */
  toSign(): Promise<SigningKey> {
    const now = performance.now();
    if (this.current !== undefined && this.current.until > now) return this.current.key;
    const key = this.database
      .query<SigningKey>(newest, [uuidv7(), randomBytes(32).toString('base64')])
      .then(([row]) => row!);
    this.current = { key, until: now + useMs };
    key.catch(() => (this.current = undefined));
    return key;
  }

  has(id: string): boolean {
    return this.known.has(id);
  }

  /** Undefined if no key has this id (any more). @throws AppError store_unavailable */
  async find(id: string): Promise<SigningKey | undefined> {
    const known = this.known.get(id);
    if (known !== undefined) return known;
    const [key] = await this.database.query<SigningKey>(
      `/* call-tokens.find */ select id::text, secret from call_token_keys where id::text = $1`,
      [id],
    );
    if (key === undefined) return undefined;
    if (this.known.size >= maxKnown) this.known.delete(this.known.keys().next().value!);
    this.known.set(id, key);
    return key;
  }
}
