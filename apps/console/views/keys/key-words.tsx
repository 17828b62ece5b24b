// The state of a key and what is spent of its budgets, in words.
import type { BudgetUse, ListedKey } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { Badge } from '../../widgets/shown/badge.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Meter } from '../../widgets/shown/meter.js';
import type { Tone } from '../../widgets/shown/state-words.js';
import { keysStrings } from './strings.js';
import styles from './keys.module.css';

export const keyStates = ['active', 'rotating', 'expiring', 'expired', 'revoked'] as const;
export const inForceStates = 'active,rotating,expiring';

const tones: Readonly<Record<ListedKey['state'], Tone>> = {
  active: 'good',
  rotating: 'accent',
  expiring: 'warn',
  expired: 'neutral',
  revoked: 'neutral',
};

export const isInForce = ({ state }: Pick<ListedKey, 'state'>): boolean => state !== 'expired' && state !== 'revoked';

export function KeyState({ state }: Pick<ListedKey, 'state'>) {
  const texts = useStrings(keysStrings);
  return <Badge tone={tones[state]}>{texts[state]}</Badge>;
}

const meterTones = { none: 'accent', within: 'accent', would_run_out: 'warn', used_up: 'bad' } as const;

export function SpentOf({ label, use }: { label: string; use: BudgetUse }) {
  const texts = useStrings(keysStrings);
  const formats = useFormats();
  const { limit_usd: limit, spent_usd: spent, state } = use;
  if (limit === null) return <span className={styles.soft}>{texts.spentOnly(formats.usd(spent))}</span>;
  const text = texts.spentOf(formats.usd(spent), formats.usd(limit));
  return (
    <span className={styles.spent}>
      <Meter label={label} text={text} part={limit === 0 ? 1 : spent / limit} tone={meterTones[state]} />
      <span>{text}</span>
    </span>
  );
}

/** Which of its budgets is nearer to its end. */
export function nearerBudget({ spending: { day, month } }: ListedKey): 'day' | 'month' | undefined {
  const share = ({ limit_usd: limit, spent_usd: spent }: BudgetUse) =>
    limit === null ? -1 : limit === 0 ? 1 : spent / limit;
  if (day.limit_usd === null && month.limit_usd === null) return undefined;
  return share(day) >= share(month) ? 'day' : 'month';
}
