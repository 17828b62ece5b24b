// Carries channels by LISTEN and NOTIFY.
import type pg from 'pg';
import type { CarriedMessage, Carrier, LinkEvents, ListenLink } from '../messages/carrier.js';
import { destroy } from '#libs/postgres/pool.js';
import type { BackingDatabase } from './database.js';
import { notifyLimits, shardOf } from './notify-shards.js';

/** Uses no arrays, whose text form escapes every quote of a message. */
const oneStatement = 'select pg_notify($1, $2)';
const statement = 'select pg_notify(m.shard, m.payload) from unnest($1::text[], $2::text[]) as m(shard, payload)';

export class NotifyCarrier implements Carrier {
  readonly timeoutMs: number;
  readonly limits = notifyLimits;
  readonly physicalName = shardOf;

  constructor(private readonly database: BackingDatabase) {
    this.timeoutMs = database.timeoutMs;
  }

  send(messages: readonly CarriedMessage[]): Promise<unknown> {
    const [first] = messages;
    if (messages.length === 1) return this.database.runRaw(oneStatement, [first!.name, first!.payload]);
    const columns = [messages.map(({ name }) => name), messages.map(({ payload }) => payload)];
    return this.database.runRaw(statement, columns);
  }

  async openLink(events: LinkEvents): Promise<ListenLink> {
    const client = await this.database.openClient();
    client.once('error', () => events.onLost());
    client.once('end', () => events.onLost());
    client.on('notification', ({ payload }) => events.onPayload(payload ?? ''));
    return new PostgresLink(this.database, client);
  }
}

class PostgresLink implements ListenLink {
  constructor(
    private readonly database: BackingDatabase,
    private readonly client: pg.Client,
  ) {}

  async change(added: readonly string[], ended: readonly string[]): Promise<void> {
    const statements = [...added.map((name) => `listen ${name}`), ...ended.map((name) => `unlisten ${name}`)];
    await this.client.query(statements.join(';'));
  }

  async ask(): Promise<void> {
    await this.client.query('select 1');
  }

  close(): Promise<void> {
    return this.database.endClient(this.client);
  }

  destroy(): void {
    destroy(this.client);
  }
}
