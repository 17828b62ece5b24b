// A time by its distance from now, with the exact one as its title.
import { ExternalValue, useExternal } from '../../api/external-value.js';
import { useFormats } from './formats.js';

const stepMs = 10_000;
/** One clock for all times of the page. */
const now = new ExternalValue(Date.now());
setInterval(() => now.set(Date.now()), stepMs);

/** The present, to ten seconds. */
export const useNow = (): number => useExternal(now);

/** `time`: as the API has it, ISO 8601 or epoch seconds. */
export function TimeAgo({ time }: { time: string | number }) {
  const formats = useFormats();
  const present = useNow();
  const date = new Date(typeof time === 'number' ? time * 1_000 : time);
  // The clock of the page steps, so what has just happened could be in its future.
  const reference = Math.max(present, Math.min(date.getTime(), present + stepMs));
  return (
    <time dateTime={date.toISOString()} title={formats.time(date)}>
      {formats.ago(date, reference)}
    </time>
  );
}
