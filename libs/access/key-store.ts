// API keys in the database: created, listed, rotated, revoked, and found by hash. Each change writes its audit row in the
// same statement. Rows are never deleted, so the owner of a past key stays known.
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Access, NamedToolsets } from '#libs/schemas/call-context.js';
import { mintKey } from './api-key.js';

export const keyStates = ['active', 'rotating', 'expiring', 'expired', 'revoked'] as const;
/** `rotating`: replaced, and valid until its grace is over. `expiring`: it ends within a week. */
export type KeyState = (typeof keyStates)[number];

export interface StoredKey extends Access {
  id: string;
  /** When it was read. */
  state: KeyState;
  prefix: string;
  owner: string;
  name: string | null;
  budgets: NonNullable<Access['budgets']>;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  replacedBy: string | null;
}

export interface KeyFilter {
  id?: string | undefined;
  states?: readonly KeyState[] | undefined;
  owner?: string | undefined;
  scope?: string | undefined;
  /** Anywhere in the id, the prefix, the owner or the name. */
  text?: string | undefined;
}

export interface NewKey extends Omit<Access, 'tools' | 'limits' | 'budgets'> {
  owner: string;
  name?: string;
  tools?: Access['tools'];
  limits?: Access['limits'];
  budgets?: StoredKey['budgets'];
  expiresAt?: Date;
}

/** The person who changes a key, for the audit. */
export interface KeyActor {
  principal: string;
  requestId: string;
  keyId?: string | undefined;
  ip?: string | undefined;
}

export interface SignInFailure {
  reason:
    | 'unknown'
    | 'expired'
    | 'revoked'
    | 'token_invalid'
    | 'token_expired'
    | 'token_not_yet_valid'
    | 'token_audience'
    | 'token_issuer';
  key?: Pick<StoredKey, 'id' | 'owner'> | undefined;
  /** Set for a token with a valid signature. */
  principal?: string | undefined;
}

const state = `case when revoked_at is not null then 'revoked' when expires_at <= clock_timestamp() then 'expired'
  when replaced_by is not null then 'rotating' when expires_at <= clock_timestamp() + interval '7 days' then 'expiring'
  else 'active' end`;
const shown = `id, ${state} as state, prefix, owner, name, roles, scopes, models, tools, limits, budgets, created_at as "createdAt",
  expires_at as "expiresAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt", replaced_by as "replacedBy"`;
const audited = `insert into audit_events (id, at, kind, request_id, principal, key_id, ip, name, success, state)
  select $1::uuid, clock_timestamp(), 'key_change', $2, $3, $4, $5, id`;

const insertKey = `/* keys.create */
  with made as (
    insert into api_keys (id, hash, prefix, owner, name, roles, scopes, models, tools, limits, budgets, expires_at)
    values ($7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) returning *),
  audited as (${audited}, true, 'created' from made where $6::boolean)
  select ${shown} from made`;

const rotateKey = `/* keys.rotate */
  with old as (
    update api_keys set replaced_by = $8,
      expires_at = least(expires_at, clock_timestamp() + $11 * interval '1 second')
    where id = $7 and revoked_at is null and replaced_by is null
      and (expires_at is null or expires_at > clock_timestamp())
    returning *, (select before.expires_at from api_keys before where before.id = $7) as before_expires_at),
  made as (
    insert into api_keys (id, hash, prefix, owner, name, roles, scopes, models, tools, limits, budgets, expires_at)
    select $8, $9, $10, owner, name, roles, scopes, models, tools, limits, budgets, before_expires_at from old
    returning *),
  audited as (${audited}, true, 'rotated' from old where $6::boolean)
  select ${shown} from made`;

const revokeKey = `/* keys.revoke */
  with gone as (
    update api_keys set revoked_at = coalesce(revoked_at, clock_timestamp()) where id = $7 returning *),
  audited as (${audited}, true, 'revoked' from gone where $6::boolean)
  select ${shown} from gone`;

const touchKeys = `/* keys.used */
  update api_keys set last_used_at = greatest(last_used_at, used.at)
  from unnest($1::text[], $2::timestamptz[]) as used(id, at) where api_keys.id = used.id`;

export class KeyStore {
  private readonly audit: boolean;
  private readonly toolsets: NamedToolsets | undefined;

  constructor(
    private readonly database: Pick<Database, 'query'>,
    { audit = true, toolsets }: { audit?: boolean; toolsets?: NamedToolsets } = {},
  ) {
    this.audit = audit;
    this.toolsets = toolsets;
  }

  /** The only place where the key itself is returned. */
  async create(key: NewKey, by: KeyActor): Promise<{ key: string; stored: StoredKey }> {
    const minted = mintKey();
    const [stored] = await this.database.query<StoredKey>(insertKey, [
      ...this.actor(by),
      minted.id,
      minted.hash,
      minted.prefix,
      storedText(key.owner),
      storedTextOrNull(key.name),
      key.roles.map(storedText),
      key.scopes,
      key.models?.map(storedText) ?? null,
      JSON.stringify(key.tools ?? {}),
      JSON.stringify(key.limits ?? {}),
      JSON.stringify(key.budgets ?? {}),
      key.expiresAt ?? null,
    ]);
    return { key: minted.key, stored: this.fromRow(stored!) };
  }

  /** Newest first. */
  async list({
    limit,
    after,
    ...filter
  }: KeyFilter & { limit: number; after?: string | undefined }): Promise<StoredKey[]> {
    const { id, states, owner, scope, text } = filter;
    const texts = [after, id, owner, scope, text].map((each) => (each === undefined ? null : storedText(each)));
    const rows = await this.database.query<StoredKey>(
      `/* keys.list */ select ${shown} from api_keys
       where ($2::text is null or (created_at, id) < (select created_at, id from api_keys where id = $2))
         and ($3::text is null or id = $3) and ($4::text is null or owner = $4) and ($5::text is null or $5 = any(scopes))
         and ($6::text is null or position(lower($6) in lower(concat_ws(' ', id, prefix, owner, name))) > 0)
         and ($7::text[] is null or ${state} = any($7))
       order by created_at desc, id desc limit $1`,
      [limit, ...texts, states ?? null],
    );
    return rows.map((row) => this.fromRow(row));
  }

  /** Creates a new key for the same owner; the old one works for `graceSeconds` more. @throws AppError not_found */
  async rotate(id: string, graceSeconds: number, by: KeyActor): Promise<{ key: string; stored: StoredKey }> {
    const minted = mintKey();
    const parameters = [...this.actor(by), storedText(id), minted.id, minted.hash, minted.prefix, graceSeconds];
    const [stored] = await this.database.query<StoredKey>(rotateKey, parameters);
    if (stored === undefined) throw new AppError('not_found', 'There is no valid key with this id');
    return { key: minted.key, stored: this.fromRow(stored) };
  }

  /** @throws AppError not_found */
  async revoke(id: string, by: KeyActor): Promise<StoredKey> {
    const [stored] = await this.database.query<StoredKey>(revokeKey, [...this.actor(by), storedText(id)]);
    if (stored === undefined) throw new AppError('not_found', 'There is no key with this id');
    return this.fromRow(stored);
  }

  /** Undefined if the key is revoked or expired. */
  async inForce(id: string): Promise<StoredKey | undefined> {
    const [row] = await this.database.query<StoredKey>(
      `/* keys.in-force */ select ${shown} from api_keys
       where id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`,
      [storedText(id)],
    );
    return row === undefined ? undefined : this.fromRow(row);
  }

  /** The name that a person gave the key. */
  async nameOf(id: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ name: string | null }>(
      '/* keys.name-of */ select name from api_keys where id = $1',
      [storedText(id)],
    );
    return row?.name ?? undefined;
  }

  async findByHash(hashes: readonly string[]): Promise<Map<string, StoredKey>> {
    const rows = await this.database.query<StoredKey & { hash: string }>(
      `/* keys.find */ select hash, ${shown} from api_keys where hash = any($1)`,
      [hashes],
    );
    return new Map(rows.map(({ hash, ...row }) => [hash, this.fromRow(row)]));
  }

  /** Grows with every change of a key; '0' before the first key is created. */
  async revision(): Promise<string> {
    const statement = '/* keys.revision */ select revision from api_keys_revision';
    const [row] = await this.database.query<{ revision: string }>(statement, []);
    return row!.revision;
  }

  async noteUse(uses: readonly { id: string; at: Date }[]): Promise<void> {
    await this.database.query(touchKeys, [uses.map(({ id }) => id), uses.map(({ at }) => at)]);
  }

  async noteFailure(
    { reason, key, principal }: SignInFailure,
    { requestId, ip }: Omit<KeyActor, 'principal'>,
  ): Promise<void> {
    if (!this.audit) return;
    await this.database.query(
      `/* keys.failed */ insert into audit_events
         (id, at, kind, request_id, principal, key_id, ip, success, state, error_code)
       values ($1::uuid, clock_timestamp(), 'sign_in_failed', $2, $3, $4, $5, false, $6, 'invalid_api_key')`,
      [uuidv7(), storedText(requestId), key?.owner ?? principal ?? '', key?.id ?? null, ip ?? null, reason],
    );
  }

  private actor({ requestId, principal, keyId, ip }: KeyActor): unknown[] {
    const texts = [storedText(requestId), storedText(principal), storedTextOrNull(keyId), ip ?? null];
    return [uuidv7(), ...texts, this.audit];
  }

  /** In the database, null means that all models are allowed. */
  private fromRow(row: StoredKey): StoredKey {
    const { models, ...rest } = row as Omit<StoredKey, 'models'> & { models: readonly string[] | null };
    const { toolsets } = this;
    return { ...rest, ...(models === null ? {} : { models }), ...(toolsets === undefined ? {} : { toolsets }) };
  }
}
