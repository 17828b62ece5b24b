// How much of its room a session has used.
import type { Session } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { sessionsStrings } from './strings.js';
import styles from './sessions.module.css';

const nearlyFull = 0.9;

export function Quota({ session: { usage, limits } }: { session: Pick<Session, 'usage' | 'limits'> }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const part = Math.min(1, Math.max(usage.bytes / limits.bytes, usage.files / limits.files));
  return (
    <span className={styles.quota}>
      <span
        className={styles.bar}
        role="meter"
        aria-label={texts.used}
        aria-valuemin={0}
        aria-valuemax={limits.bytes}
        aria-valuenow={usage.bytes}
        aria-valuetext={texts.ofLimit(formats.bytes(usage.bytes), formats.bytes(limits.bytes))}
      >
        <span className={part > nearlyFull ? styles.full : undefined} style={{ width: `${100 * part}%` }} />
      </span>
      <span className={styles.figure}>{formats.bytes(usage.bytes)}</span>
    </span>
  );
}
