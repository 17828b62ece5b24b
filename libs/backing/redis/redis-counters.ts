// Counters in Redis, each one atomic script. Times are the server's, so that gateways' clocks need not agree.
import { type Counters, type PlaceShare, type WindowState, windowSteps, type WindowUse } from '../counters.js';
import { storedKey } from '../stored-key.js';
import { sharedPlacesKey, windowKey } from './keys.js';
import type { RedisClient } from './redis-client.js';
import { RedisScript } from './redis-script.js';
import type { RedisStore } from './redis-store.js';

/** The key is a hash: number of the step → its count. */
const useWindow = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local take, add, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local size = window / ${windowSteps}
local step = math.floor(now / size)
local oldest = step - ${windowSteps}
local stored = redis.call('HGETALL', KEYS[1])
local counts, used = {}, add
for place = 1, #stored, 2 do
  local at = tonumber(stored[place])
  if at < oldest then
    redis.call('HDEL', KEYS[1], stored[place])
  else
    counts[at] = tonumber(stored[place + 1])
    used = used + counts[at]
  end
end
local taken = math.max(0, math.min(take, limit - used))
local left = limit - used - taken
if add + taken ~= 0 then
  counts[step] = (counts[step] or 0) + add + taken
  redis.call('HSET', KEYS[1], string.format('%d', step), string.format('%d', counts[step]))
  redis.call('PEXPIRE', KEYS[1], string.format('%d', window * 2))
end
local wait, freed = 0, 0
if left < 1 then
  for at = oldest, step do
    freed = freed + (counts[at] or 0)
    wait = (at + ${windowSteps + 1}) * size - now
    if freed >= 1 - left then
      break
    end
  end
end
return {taken, left, wait}`);

/** The key is a hash: holder → places, wanted places, expiry, and since when it waits for its part. As in PostgreSQL. */
const share = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local own, used, wanted, limit, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local stored = redis.call('HGETALL', KEYS[1])
local others, count, taken, before = {}, 0, 0, nil
for at = 1, #stored, 2 do
  local places, wants, expires, since = string.match(stored[at + 1], '(%d+) (%d+) (%d+) (%d+)')
  local held = {places = tonumber(places), wanted = tonumber(wants), since = tonumber(since)}
  if tonumber(expires) <= now then
    redis.call('HDEL', KEYS[1], stored[at])
  elseif stored[at] == own then
    before = held
  else
    others[stored[at]] = held
    count = count + 1
    taken = taken + held.places
  end
end
local part = math.max(1, math.floor(limit / (count + 1)))
local since = before and before.places < math.min(before.wanted, part) and before.since or nil
local reserved, earlier = 0, 0
for name, held in pairs(others) do
  local lacks = math.max(0, math.min(held.wanted, part) - held.places)
  reserved = reserved + lacks
  if not since or held.since < since or (held.since == since and name < own) then
    earlier = earlier + lacks
  end
end
local free = limit - taken
local places = math.max(0, math.min(wanted, math.max(free - reserved, math.min(part, free - earlier))))
if wanted + used == 0 then
  redis.call('HDEL', KEYS[1], own)
else
  local held = string.format('%d %d %d %d', math.max(places, used), wanted, now + ttl * 1000, since or now)
  redis.call('HSET', KEYS[1], own, held)
  redis.call('PEXPIRE', KEYS[1], ttl)
end
return places`);

export class RedisCounters implements Counters {
  constructor(private readonly store: RedisStore) {}

  useWindows(uses: readonly WindowUse[], signal: AbortSignal): Promise<WindowState[]> {
    return this.store.run((client) => Promise.all(uses.map((use) => useOne(client, use))), signal);
  }

  sharePlaces(shares: readonly PlaceShare[], signal: AbortSignal): Promise<number[]> {
    return this.store.run((client) => Promise.all(shares.map((each) => shareOne(client, each))), signal);
  }

  /** The connections belong to the backing. */
  async close(): Promise<void> {}
}

async function useOne(client: RedisClient, { key, take, add, limit, windowMs }: WindowUse): Promise<WindowState> {
  const answer = await useWindow.run(client, [windowKey(storedKey(key))], [take, add, limit, windowMs]);
  const [taken, left, waitMs] = answer as [number, number, number];
  return { taken, left, waitMs };
}

async function shareOne(client: RedisClient, { key, holder, used, wanted, limit, ttlMs }: PlaceShare): Promise<number> {
  const values = [storedKey(holder), used, wanted, limit, ttlMs];
  return (await share.run(client, [sharedPlacesKey(storedKey(key))], values)) as number;
}
