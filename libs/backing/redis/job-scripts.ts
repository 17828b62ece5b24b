// Queries over many jobs that BullMQ has no call for, each atomic in the server. The scripts read BullMQ's keys, whose layout is
// stable within a major version, and the conformance suite checks it. KEYS[1] is the set of our workers' queues.
import { commonQueueName } from '../bullmq/job-id.js';
import { queuePrefix } from './keys.js';
import { RedisScript } from './redis-script.js';

const queues = `
local function queues()
  local found = redis.call('SMEMBERS', KEYS[1])
  found[#found + 1] = '${commonQueueName}'
  for index, name in ipairs(found) do found[index] = '${queuePrefix}:' .. name .. ':' end
  return found
end`;

/** ARGV: job ids. Returns the ids that wait or run in any queue. */
export const existingJobs = new RedisScript(`${queues}
local found, bases = {}, queues()
for _, id in ipairs(ARGV) do
  for _, base in ipairs(bases) do
    if redis.call('EXISTS', base .. id) == 1 then
      found[#found + 1] = id
      break
    end
  end
end
return found`);

/** ARGV: job ids. Atomic, so that a worker that claims a job meanwhile keeps it. Returns how many were removed. */
export const removeWaiting = new RedisScript(`${queues}
local removed = 0
for _, base in ipairs(queues()) do
  for _, id in ipairs(ARGV) do
    local there = redis.call('LREM', base .. 'wait', 0, id) + redis.call('LREM', base .. 'paused', 0, id)
      + redis.call('ZREM', base .. 'prioritized', id) + redis.call('ZREM', base .. 'delayed', id)
    if there > 0 then
      redis.call('DEL', base .. id)
      removed = removed + 1
    end
  end
end
return removed`);

/** Delayed jobs are few (put back): this many of each queue are checked for their age. */
const delayedLookedAt = 32;

/** Returns waiting, active, and when the oldest waiting job was added (epoch ms as text, empty when none waits). */
export const countJobs = new RedisScript(`${queues}
local waiting, active, oldest = 0, 0, nil
local function look(base, id)
  local added = id and tonumber(redis.call('HGET', base .. id, 'timestamp') or nil)
  if added and (not oldest or added < oldest) then oldest = added end
end
for _, base in ipairs(queues()) do
  waiting = waiting + redis.call('LLEN', base .. 'wait') + redis.call('LLEN', base .. 'paused')
    + redis.call('ZCARD', base .. 'prioritized') + redis.call('ZCARD', base .. 'delayed')
  active = active + redis.call('LLEN', base .. 'active')
  look(base, redis.call('LINDEX', base .. 'wait', -1))
  look(base, redis.call('ZRANGE', base .. 'prioritized', 0, 0)[1])
  for _, id in ipairs(redis.call('ZRANGE', base .. 'delayed', 0, ${delayedLookedAt - 1})) do look(base, id) end
end
return {waiting, active, oldest and string.format('%.0f', oldest) or ''}`);

/** Jobs that one step of forgetting a queue removes. */
const forgottenAtOnce = 1_000;

/** ARGV: a queue's name. Repeat until it returns 0: then the whole queue is removed. */
export const forgetQueue = new RedisScript(`
local base = '${queuePrefix}:' .. ARGV[1] .. ':'
local left = ${forgottenAtOnce}
local function forget(ids)
  for _, id in ipairs(ids) do redis.call('DEL', base .. id, base .. id .. ':lock', base .. id .. ':logs') end
  left = left - #ids
end
for _, list in ipairs({'wait', 'paused', 'active'}) do
  if left > 0 then
    local ids = redis.call('LRANGE', base .. list, 0, left - 1)
    forget(ids)
    redis.call('LTRIM', base .. list, #ids, -1)
  end
end
for _, set in ipairs({'prioritized', 'delayed', 'completed', 'failed'}) do
  if left > 0 then
    local ids = redis.call('ZRANGE', base .. set, 0, left - 1)
    forget(ids)
    if #ids > 0 then redis.call('ZREMRANGEBYRANK', base .. set, 0, #ids - 1) end
  end
end
if left <= 0 then return 1 end
for _, part in ipairs({'meta', 'id', 'pc', 'marker', 'events', 'stalled', 'stalled-check', 'limiter', 'wait', 'paused', 'active'}) do
  redis.call('DEL', base .. part)
end
redis.call('SREM', KEYS[1], ARGV[1])
return 0`);
