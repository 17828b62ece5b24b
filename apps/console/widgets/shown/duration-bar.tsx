// How long something took, and what the time went into, as one bar. Its text form is its name.
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import { useFormats } from './formats.js';
import styles from './duration-bar.module.css';

export interface SpentMs {
  model: number;
  queue: number;
  tool: number;
  person: number;
}

const parts = ['model', 'queue', 'tool', 'person'] as const;

/** `longestMs`: the duration that fills the width, for bars that stand below each other. */
export function DurationBar({ spentMs, longestMs }: { spentMs: SpentMs; longestMs?: number }) {
  const texts = useStrings(widgetStrings);
  const formats = useFormats();
  const whole = Math.max(1, longestMs ?? parts.reduce((sum, part) => sum + spentMs[part], 0));
  const given = parts.filter((part) => spentMs[part] > 0);
  const words = given.map((part) => `${texts[part]} ${formats.duration(spentMs[part])}`).join(', ');
  return (
    <div className={styles.bar} role="img" aria-label={words} title={words}>
      {given.map((part) => (
        <span key={part} className={styles[part]} style={{ width: `${(100 * spentMs[part]) / whole}%` }} />
      ))}
    </div>
  );
}
