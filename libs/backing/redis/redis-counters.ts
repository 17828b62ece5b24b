// Counters in Redis, each one atomic script. Times are the server's, so that gateways' clocks need not agree.
import type { Counters } from '../counters.js';
import { storedKey } from '../stored-key.js';
import { counterKey, placesKey } from './keys.js';
import { RedisScript } from './redis-script.js';
import type { RedisStore } from './redis-store.js';

const add = new RedisScript(`
local total = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {total, left}`);

const acquire = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not held and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(last[2]) - now))
return 1`);

export class RedisCounters implements Counters {
  constructor(private readonly store: RedisStore) {}

  async add(
    key: string,
    by: number,
    windowMs: number,
    signal: AbortSignal,
  ): Promise<{ total: number; resetInMs: number }> {
    const values = [Math.round(by), Math.ceil(windowMs)];
    const answer = await this.store.run((client) => add.run(client, [counterKey(storedKey(key))], values), signal);
    const [total, resetInMs] = answer as [number, number];
    return { total, resetInMs };
  }

  // eslint-disable-next-line max-params -- the port's own shape
  async acquire(key: string, holder: string, limit: number, ttlMs: number, signal: AbortSignal): Promise<boolean> {
    const values = [storedKey(holder), limit, Math.ceil(ttlMs)];
    const taken = await this.store.run((client) => acquire.run(client, [placesKey(storedKey(key))], values), signal);
    return taken === 1;
  }

  async release(key: string, holder: string, signal: AbortSignal): Promise<void> {
    await this.store.run((client) => client.zrem(placesKey(storedKey(key)), storedKey(holder)), signal);
  }

  /** The connections belong to the backing. */
  async close(): Promise<void> {}
}
