// Budgets with what is spent of them and where their day or month will end, the nearest to its end first.
import type { BudgetUse, KeyBudget } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/api.js';
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import type { Column } from '../../widgets/lists/data-table.js';
import { PagedTable } from '../../widgets/lists/paged-table.js';
import { usePages } from '../../widgets/lists/pages.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Meter } from '../../widgets/shown/meter.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { usageStrings } from './strings.js';
import styles from './usage.module.css';

const pageSize = 50;

export function Budgets() {
  const texts = useStrings(usageStrings);
  const pages = usePages<KeyBudget>({
    queryKey: ['usage', 'budgets'],
    load: (cursor, signal) => api.operations.budgets({ limit: pageSize, cursor, signal }),
  });
  const isAdmin = useMay('admin') === true;
  const who = ({ key, principal, name, prefix }: KeyBudget) => {
    const shown = visibleText(name === null ? principal : `${principal} · ${name}`);
    return (
      <span className={styles.who}>
        {isAdmin && key !== null ? (
          <Link to="/keys" search={{ id: key }} title={shown} className={styles.cut}>
            {shown}
          </Link>
        ) : (
          <span className={styles.cut}>{shown}</span>
        )}
        <small className={styles.soft}>{prefix === null ? texts.noKey : `${prefix}…`}</small>
      </span>
    );
  };
  const columns: readonly Column<KeyBudget>[] = [
    { name: 'who', heading: texts.whose, width: 'minmax(0, 1fr)', show: who },
    {
      name: 'day',
      heading: texts.dayBudget,
      width: 'minmax(0, 1.4fr)',
      show: ({ day }) => <Use label={texts.dayBudget} use={day} />,
    },
    {
      name: 'month',
      heading: texts.monthBudget,
      width: 'minmax(0, 1.4fr)',
      show: ({ month }) => <Use label={texts.monthBudget} use={month} />,
    },
  ];
  const card = (row: KeyBudget) => (
    <div className={styles.card}>
      {who(row)}
      <Use label={texts.dayBudget} use={row.day} isNamed />
      <Use label={texts.monthBudget} use={row.month} isNamed />
    </div>
  );
  return (
    <section className={styles.section} aria-labelledby="budgets">
      <h2 id="budgets">{texts.budgets}</h2>
      <p className={styles.soft}>{texts.budgetsAbout}</p>
      <PagedTable
        label={texts.budgets}
        pages={pages}
        columns={columns}
        card={card}
        rowHeight={56}
        rowKey={({ key, principal }) => key ?? `user:${principal}`}
        empty={
          <Notice heading={texts.noBudgets} text={texts.noBudgetsText}>
            <Command text="budgets: { day_usd: 20, month_usd: 200 }" />
          </Notice>
        }
      />
    </section>
  );
}

const tones = { none: 'accent', within: 'accent', would_run_out: 'warn', used_up: 'bad' } as const;

function Use({ label, use, isNamed = false }: { label: string; use: BudgetUse; isNamed?: boolean }) {
  const texts = useStrings(usageStrings);
  const formats = useFormats();
  const { limit_usd: limit, spent_usd: spent, forecast_usd: forecast, state, runs_out_at: runsOut } = use;
  const name = isNamed && <span className={styles.soft}>{label}</span>;
  if (limit === null) {
    return (
      <span className={styles.line}>
        {name}
        <span className={styles.soft}>
          {formats.usd(spent)}, {texts.none}
        </span>
      </span>
    );
  }
  const text = texts.spentOf(formats.usd(spent), formats.usd(limit));
  const end =
    state === 'used_up'
      ? texts.usedUp
      : runsOut === null
        ? texts.endsAt(formats.usd(forecast))
        : texts.runsOut(formats.time(new Date(runsOut)));
  return (
    <span className={styles.who}>
      <span className={styles.line}>
        {name}
        <Meter label={label} text={text} part={limit === 0 ? 1 : spent / limit} tone={tones[state]} />
        <span>{text}</span>
      </span>
      <small className={state === 'within' ? styles.soft : styles[tones[state]]}>{end}</small>
    </span>
  );
}
