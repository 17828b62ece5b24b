// When a failed call may be retried. Pure: the caller waits.

const firstDelayMs = 250;
const longestDelayMs = 8_000;
/**
 * If an upstream asks for a longer pause, the caller gets the error immediately, while an HTTP status can still be sent.
 * Streams send their headers after ten seconds.
 */
export const longestRetryAfterMs = 8_000;

/** Seconds from `Retry-After` (seconds or a date) or `retry-after-ms`; undefined without a valid value. */
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

/** Exponential backoff with jitter (half to full), or the upstream's value. `attempt` counts from 1. */
export function retryDelayMs(attempt: number, retryAfterSeconds: number | undefined, random = Math.random()): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000;
  const whole = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1));
  return whole * (0.5 + random / 2);
}

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);
