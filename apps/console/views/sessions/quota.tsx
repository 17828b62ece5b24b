// How much of its room a session has used.
import type { Session } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Meter } from '../../widgets/shown/meter.js';
import { sessionsStrings } from './strings.js';
import styles from './sessions.module.css';

const nearlyFull = 0.9;

export function Quota({ session: { usage, limits } }: { session: Pick<Session, 'usage' | 'limits'> }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const part = Math.max(usage.bytes / limits.bytes, usage.files / limits.files);
  return (
    <span className={styles.quota}>
      <Meter
        label={texts.used}
        text={texts.ofLimit(formats.bytes(usage.bytes), formats.bytes(limits.bytes))}
        part={part}
        tone={part > nearlyFull ? 'bad' : 'accent'}
      />
      <span className={styles.figure}>{formats.bytes(usage.bytes)}</span>
    </span>
  );
}
