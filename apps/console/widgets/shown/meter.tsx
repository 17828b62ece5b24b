// How much of a bound is used, as a bar. The figures stand beside it.
import styles from './meter.module.css';

export interface MeterProps {
  label: string;
  /** What is said of it: "3 of 20". */
  text: string;
  /** 0 to 1; more is shown as full. */
  part: number;
  tone?: 'accent' | 'warn' | 'bad';
}

export function Meter({ label, text, part, tone = 'accent' }: MeterProps) {
  const shown = Math.min(1, Math.max(0, part));
  return (
    <span
      className={styles.bar}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={1}
      aria-valuenow={shown}
      aria-valuetext={text}
      title={text}
    >
      <span className={styles[tone]} style={{ width: `${100 * shown}%` }} />
    </span>
  );
}
