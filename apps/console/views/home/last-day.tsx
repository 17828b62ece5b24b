// The last 24 hours as four small plots. Each figure leads to the view that has its rows.
import { Link } from '@tanstack/react-router';
import type { OverviewHour } from '@signalbox/client';
import { useMemo } from 'react';
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Plot } from '../../widgets/shown/plot.js';
import { homeStrings } from './strings.js';
import styles from './home.module.css';

interface DayPlotProps {
  label: string;
  figure: string;
  /** Beside the figure. */
  more?: string | undefined;
  to: string;
  search: Record<string, string>;
  times: readonly number[];
  values: readonly (number | null)[];
  show: (value: number) => string;
}

export function LastDay({ hours }: { hours: readonly OverviewHour[] }) {
  const texts = useStrings(homeStrings);
  const formats = useFormats();
  const isAdmin = useMay('admin') === true;
  const times = useMemo(() => hours.map(({ hour }) => new Date(hour).getTime() / 1_000), [hours]);
  const of = useMemo(
    () => ({
      requests: hours.map(({ requests }) => requests),
      p95: hours.map(({ p95_ms }) => p95_ms),
      failures: hours.map(({ tool_failures }) => tool_failures),
      cost: hours.map(({ cost_usd }) => cost_usd),
    }),
    [hours],
  );
  const sum = (values: readonly number[]) => values.reduce((whole, value) => whole + value, 0);
  const slowest = Math.max(0, ...of.p95.map((value) => value ?? 0));
  const since = hours[0]?.hour;
  const search: Record<string, string> = since === undefined ? {} : { since };
  const calls = sum(hours.map(({ tool_calls }) => tool_calls));
  const failed = isAdmin ? { to: '/audit', search: { ...search, outcome: 'failure' } } : { to: '/runs', search };
  return (
    <div className={styles.plots}>
      <DayPlot
        {...{ times, search, label: texts.requests, to: '/usage', show: formats.number }}
        figure={formats.number(sum(of.requests))}
        values={of.requests}
      />
      <DayPlot
        {...{ times, search, label: texts.p95, to: '/runs', show: formats.duration }}
        figure={slowest === 0 ? texts.none : formats.duration(slowest)}
        values={of.p95}
      />
      <DayPlot
        {...{ times, label: texts.toolFailures, show: formats.number }}
        {...failed}
        figure={formats.number(sum(of.failures))}
        more={texts.ofCalls(formats.number(calls))}
        values={of.failures}
      />
      <DayPlot
        {...{ times, search, label: texts.cost, to: '/usage', show: formats.usd }}
        figure={formats.usd(sum(of.cost))}
        values={of.cost}
      />
    </div>
  );
}

function DayPlot({ label, figure, more, to, search, times, values, show }: DayPlotProps) {
  const series = useMemo(() => [{ name: label, values }], [label, values]);
  return (
    <article className={styles.plot}>
      <Link to={to} search={search} className={styles.plotLink}>
        <span className={styles.label}>{label}</span>
        <span>
          <span className={styles.figure}>{figure}</span> {more !== undefined && <small>{more}</small>}
        </span>
      </Link>
      <Plot label={label} times={times} series={series} show={show} height={110} kind="bars" />
    </article>
  );
}
