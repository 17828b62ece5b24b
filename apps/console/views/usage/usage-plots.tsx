// The days of the period as plots, each with the sum that it comes to.
import type { UsageRow, UsageSum } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useStrings } from '../../i18n/language.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Plot } from '../../widgets/shown/plot.js';
import { Cost } from './cost.js';
import { usageStrings } from './strings.js';
import { everyDay, type UsagePeriod } from './usage-query.js';
import styles from './usage.module.css';

export interface UsagePlotsProps {
  rows: readonly UsageRow[];
  total: UsageSum;
  period: UsagePeriod;
  /** The runs of the period. */
  runs: Record<string, string>;
}

export function UsagePlots({ rows, total, period: { first, last }, runs }: UsagePlotsProps) {
  const texts = useStrings(usageStrings);
  const formats = useFormats();
  const days = useMemo(() => everyDay({ first, last }, rows), [first, last, rows]);
  const times = useMemo(() => days.map(({ day }) => Date.parse(day) / 1_000), [days]);
  const of = useMemo(() => {
    const values = (name: Exclude<keyof UsageSum, 'unpriced_tokens'>) => days.map(({ row }) => row?.[name] ?? 0);
    const one = (name: string, member: Parameters<typeof values>[0]) => [{ name, values: values(member) }];
    return {
      requests: one(texts.requests, 'requests'),
      tokens: [...one(texts.promptTokens, 'prompt_tokens'), ...one(texts.completionTokens, 'completion_tokens')],
      cost: one(texts.cost, 'cost_usd'),
      calls: one(texts.calls, 'calls'),
    };
  }, [days, texts]);
  const plot = (label: string, figure: ReactNode, series: (typeof of)[keyof typeof of], isMoney = false) => (
    <article className={styles.plot}>
      <p className={styles.tile}>
        <span className={styles.soft}>{label}</span>
        <Link to="/runs" search={runs} className={styles.figure}>
          {figure}
        </Link>
      </p>
      <Plot
        {...{ label, times, series }}
        show={isMoney ? formats.usd : formats.number}
        height={130}
        kind={series.length === 1 ? 'bars' : 'line'}
        isDaily
      />
    </article>
  );
  return (
    <div className={styles.plots}>
      {plot(texts.requests, formats.number(total.requests), of.requests)}
      {plot(texts.tokens, formats.number(total.prompt_tokens + total.completion_tokens), of.tokens)}
      {plot(texts.cost, <Cost of={total} />, of.cost, true)}
      {plot(texts.calls, formats.number(total.calls), of.calls)}
    </div>
  );
}
