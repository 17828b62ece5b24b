// The sums of a group, the most expensive first. A name leads to the usage of it alone, the requests to their runs.
import type { UsageRow } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { DataTable, type Column } from '../../widgets/lists/data-table.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Cost } from './cost.js';
import { usageStrings } from './strings.js';
import { type Group, inOrder, runsBehind, type UsagePeriod } from './usage-query.js';
import styles from './usage.module.css';

/** More would push the budgets out of sight. */
const firstRows = 20;

export interface UsageTableProps {
  rows: readonly UsageRow[];
  group: Group;
  period: UsagePeriod;
}

export function UsageTable({ rows, group, period }: UsageTableProps) {
  const texts = useStrings(usageStrings);
  const formats = useFormats();
  const [isWhole, setWhole] = useState(false);
  const without: Partial<Record<Group, string>> = { key: texts.noKey, model: texts.noModel, tool: texts.noTool };
  const hints: Partial<Record<Group, string>> = { model: texts.noModelHint, tool: texts.noToolHint };
  const nameOf = (row: UsageRow) => {
    const value = row[group];
    if (value === null || value === undefined) return without[group] ?? '–';
    if (group === 'day') return formats.day(new Date(value));
    if (group !== 'key') return visibleText(value);
    return visibleText(
      [row.key_owner, row.key_name].filter((each) => each !== null && each !== undefined).join(' · ') || value,
    );
  };
  const name = (row: UsageRow) => {
    const value = row[group];
    const shown = nameOf(row);
    if (value === null || value === undefined) {
      return (
        <span className={styles.soft} title={hints[group]}>
          {shown}
        </span>
      );
    }
    if (group === 'day') return shown;
    return (
      <Link to="." search={(before: object) => ({ ...before, [group]: value })} title={`${shown}: ${texts.showOnly}`}>
        {shown}
      </Link>
    );
  };
  const figure = (row: UsageRow, count: number) => {
    const search = runsBehind(row, group, period);
    const shown = formats.number(count);
    if (search === undefined || count === 0) return shown;
    return (
      <Link to="/runs" search={search} aria-label={`${shown}, ${texts.runsOf(nameOf(row))}`}>
        {shown}
      </Link>
    );
  };
  const columns: readonly Column<UsageRow>[] = [
    { name: 'name', heading: texts[group], width: 'minmax(0, 2fr)', show: name },
    {
      name: 'requests',
      heading: texts.requests,
      width: 'minmax(64px, 0.7fr)',
      isNumber: true,
      show: (row) => figure(row, row.requests),
    },
    {
      name: 'calls',
      heading: texts.calls,
      width: 'minmax(72px, 0.7fr)',
      isNumber: true,
      show: (row) => (group === 'tool' ? figure(row, row.calls) : formats.number(row.calls)),
    },
    {
      name: 'prompt',
      heading: texts.promptTokens,
      width: 'minmax(88px, 0.9fr)',
      isNumber: true,
      show: (row) => formats.number(row.prompt_tokens),
    },
    {
      name: 'completion',
      heading: texts.completionTokens,
      width: 'minmax(96px, 0.9fr)',
      isNumber: true,
      show: (row) => formats.number(row.completion_tokens),
    },
    {
      name: 'cost',
      heading: texts.cost,
      width: 'minmax(88px, 0.9fr)',
      isNumber: true,
      show: (row) => <Cost of={row} />,
    },
  ];
  const card = (row: UsageRow) => (
    <div className={styles.card}>
      <span className={styles.line}>
        <span className={styles.cardName}>{name(row)}</span>
        <span>
          <Cost of={row} />
        </span>
      </span>
      <span className={`${styles.line} ${styles.soft}`}>
        <span>
          {texts.requests} {figure(row, row.requests)}
        </span>
        <span>
          {texts.calls} {formats.number(row.calls)}
        </span>
        <span>
          {texts.tokens} {formats.number(row.prompt_tokens + row.completion_tokens)}
        </span>
      </span>
    </div>
  );
  const ordered = inOrder(rows, group);
  const rest = isWhole ? 0 : ordered.length - firstRows;
  return (
    <div className={styles.table}>
      <DataTable
        label={texts.table(texts[group])}
        columns={columns}
        card={card}
        rows={rest > 0 ? ordered.slice(0, firstRows) : ordered}
        rowKey={(row) => row[group] ?? ''}
      />
      {rest > 0 && (
        <Button className={buttons.button} onPress={() => setWhole(true)}>
          {texts.showAll(formats.number(ordered.length))}
        </Button>
      )}
    </div>
  );
}
