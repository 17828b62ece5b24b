// The cache in Redis, bounded in rows and bytes for all processes together: each write removes expired entries, then
// the oldest while the cache is too large. The server itself must evict nothing (docs/redis.md).
import type { Cache, CacheBounds } from '../cache.js';
import { storedKey } from '../stored-key.js';
import { cacheKeys } from './keys.js';
import { RedisScript } from './redis-script.js';
import type { RedisStore } from './redis-store.js';

const { valuePrefix, age, expiry, bytes, state } = cacheKeys;
const indexKeys = [age, expiry, bytes, state];

/** Rows of each kind that one write removes at most; later writes remove the rest. */
const removedAtOnce = 256;

const forget = `
local function forget(name)
  local size = redis.call('HGET', KEYS[3], name)
  if size then
    redis.call('HINCRBY', KEYS[4], 'total', -size)
    redis.call('HDEL', KEYS[3], name)
  end
  redis.call('ZREM', KEYS[1], name)
  redis.call('ZREM', KEYS[2], name)
  redis.call('DEL', '${valuePrefix}' .. name)
end`;

const setValue = new RedisScript(`${forget}
local name, value, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local maxRows, maxBytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
forget(name)
redis.call('SET', '${valuePrefix}' .. name, value, 'PX', ttl)
redis.call('ZADD', KEYS[1], redis.call('HINCRBY', KEYS[4], 'number', 1), name)
redis.call('ZADD', KEYS[2], now + ttl, name)
redis.call('HSET', KEYS[3], name, #value)
local total = redis.call('HINCRBY', KEYS[4], 'total', #value)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ${removedAtOnce})) do
  forget(old)
end
for _ = 1, ${removedAtOnce} do
  total = tonumber(redis.call('HGET', KEYS[4], 'total'))
  if redis.call('ZCARD', KEYS[1]) <= maxRows and total <= maxBytes then break end
  forget(redis.call('ZRANGE', KEYS[1], 0, 0)[1])
end`);

const deleteValue = new RedisScript(`${forget}
forget(ARGV[1])`);

export class RedisCache implements Cache {
  readonly maxValueBytes: number;

  constructor(
    private readonly store: RedisStore,
    private readonly bounds: CacheBounds,
  ) {
    this.maxValueBytes = bounds.maxValueBytes;
  }

  async get(key: string, signal: AbortSignal): Promise<string | undefined> {
    const value = await this.store.run((client) => client.get(valuePrefix + storedKey(key)), signal);
    return value ?? undefined;
  }

  async set(key: string, value: string, ttlMs: number, signal: AbortSignal): Promise<void> {
    if (Buffer.byteLength(value) > this.maxValueBytes) {
      // The older value must not outlive the attempt to replace it.
      await this.delete(key, signal);
      return;
    }
    const { maxRows, maxBytes } = this.bounds;
    const values = [storedKey(key), value, Math.ceil(ttlMs), maxRows, maxBytes];
    await this.store.run((client) => setValue.run(client, indexKeys, values), signal);
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await this.store.run((client) => deleteValue.run(client, indexKeys, [storedKey(key)]), signal);
  }

  /** The connections belong to the backing. */
  async close(): Promise<void> {}
}
