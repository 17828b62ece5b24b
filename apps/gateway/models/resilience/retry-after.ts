// When a failed call may be tried again. Pure; it waits for nothing itself.

const firstDelayMs = 250;
const longestDelayMs = 8_000;
/**
 * A longer pause asked for by an upstream is the caller's to wait for: told at once, while there still is a status to tell
 * it with. Streams send their headers after ten seconds.
 */
export const longestRetryAfterMs = 8_000;

/** Seconds of a `Retry-After` (seconds or a date) or `retry-after-ms` header; undefined when neither says anything. */
export function readRetryAfter(
  headers: Record<string, string | string[] | undefined>,
  now: number,
): number | undefined {
  const milliseconds = Number(first(headers['retry-after-ms']) ?? Number.NaN);
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds / 1000;
  const given = first(headers['retry-after']);
  if (given === undefined || given.trim() === '') return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds : undefined;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}

/** Exponential with jitter (half to whole), or what the upstream asked for. `attempt` counts from 1. */
export function retryDelayMs(attempt: number, retryAfterSeconds: number | undefined, random = Math.random()): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000;
  const whole = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1));
  return whole * (0.5 + random / 2);
}

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);
