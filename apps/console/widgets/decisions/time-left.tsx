// How long a call goes on waiting. It counts down by the second.
import { useEffect, useState } from 'react';
import { useStrings } from '../../i18n/language.js';
import { useFormats } from '../shown/formats.js';
import { decisionStrings } from './decision-strings.js';
import styles from './decisions.module.css';

const stepMs = 1_000;
const shortMs = 60_000;

export function TimeLeft({ until }: { until: string }) {
  const texts = useStrings(decisionStrings);
  const formats = useFormats();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), stepMs);
    return () => clearInterval(timer);
  }, []);
  const leftMs = Date.parse(until) - now;
  const whole = Math.max(0, Math.ceil(leftMs / stepMs)) * stepMs;
  return (
    <span
      role="timer"
      aria-label={texts.timeLeft}
      className={leftMs < shortMs ? `${styles.left} ${styles.short}` : styles.left}
    >
      {whole === 0 ? texts.leftNone : texts.left(formats.duration(whole))}
    </span>
  );
}
