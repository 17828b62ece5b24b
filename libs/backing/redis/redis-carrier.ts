// Carries channels by publish and subscribe. In a cluster every server forwards messages to all others, so listeners
// may be on any; a process publishes through one server, which keeps the order.
import type { Redis } from 'ioredis';
import { withinDeadline } from '#libs/store-error/store-error.js';
import type { CarriedMessage, Carrier, LinkEvents, ListenLink } from '../messages/carrier.js';
import { storedKey } from '../stored-key.js';
import { channelPrefix, publisherKey } from './keys.js';
import { toRedisError } from './redis-error.js';
import { RedisScript } from './redis-script.js';
import type { RedisStore } from './redis-store.js';

const publish = new RedisScript(`
for index = 1, #ARGV, 2 do
  redis.call('PUBLISH', ARGV[index], ARGV[index + 1])
end`);

const kibibyte = 1024;

export class RedisCarrier implements Carrier {
  readonly timeoutMs: number;
  readonly limits = { messageBytes: 64 * kibibyte, payloadBytes: 512 * kibibyte };

  constructor(private readonly store: RedisStore) {
    this.timeoutMs = store.timeoutMs;
  }

  physicalName(channel: string): string {
    return channelPrefix + storedKey(channel);
  }

  send(messages: readonly CarriedMessage[]): Promise<unknown> {
    const values = messages.flatMap(({ name, payload }) => [name, payload]);
    return this.store.runRaw((client) => publish.run(client, [publisherKey], values));
  }

  async openLink(events: LinkEvents): Promise<ListenLink> {
    const client = this.store.createListener();
    client.on('message', (_name, payload) => events.onPayload(payload));
    client.once('end', () => events.onLost());
    try {
      await withinDeadline(this.timeoutMs, undefined, () => client.connect());
    } catch (error) {
      client.disconnect();
      throw toRedisError(error);
    }
    return new RedisLink(client, this.timeoutMs);
  }
}

class RedisLink implements ListenLink {
  constructor(
    private readonly client: Redis,
    private readonly timeoutMs: number,
  ) {}

  async change(added: readonly string[], ended: readonly string[]): Promise<void> {
    try {
      await Promise.all([
        ...(added.length > 0 ? [this.client.subscribe(...added)] : []),
        ...(ended.length > 0 ? [this.client.unsubscribe(...ended)] : []),
      ]);
    } catch (error) {
      throw toRedisError(error);
    }
  }

  async ask(): Promise<void> {
    await this.client.ping();
  }

  async close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.client.once('end', resolve));
    this.client.disconnect();
    await withinDeadline(this.timeoutMs, undefined, () => ended).catch(() => undefined);
  }

  destroy(): void {
    this.client.disconnect();
  }
}
