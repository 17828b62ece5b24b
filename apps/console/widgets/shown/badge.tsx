// A state in a word, with a colour that says the same.
import type { ReactNode } from 'react';
import { useLanguage } from '../../i18n/language.js';
import { stateWords, type Tone } from './state-words.js';
import styles from './badge.module.css';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`${styles.badge} ${styles[tone]}`}>{children}</span>;
}

/** A state as the API has it: of a run, a call, an approval, a server, a worker. Unknown ones are shown as they are. */
export function StateBadge({ state }: { state: string }) {
  const { language } = useLanguage();
  const known = stateWords[state];
  return <Badge tone={known?.tone ?? 'neutral'}>{known?.[language] ?? state}</Badge>;
}
