// Decisions, newest first.
import type { Approval } from '@signalbox/client';
import { useNavigate } from '@tanstack/react-router';
import { api } from '../../api/api.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import { ChoiceFilter } from '../../widgets/lists/choice-filter.js';
import type { Column } from '../../widgets/lists/data-table.js';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { PagedTable } from '../../widgets/lists/paged-table.js';
import { usePages } from '../../widgets/lists/pages.js';
import { TextFilter } from '../../widgets/lists/text-filter.js';
import { Badge, StateBadge } from '../../widgets/shown/badge.js';
import { stateOfWait, stateWords } from '../../widgets/shown/state-words.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { endedStates } from './outcome.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

export function DecidedList() {
  const texts = useStrings(approvalsStrings);
  const { language } = useLanguage();
  const navigate = useNavigate();
  const [{ state, tool, principal }, change] = useFilters(['state', 'tool', 'principal']);
  const one = endedStates.find((each) => each === state);
  const pages = usePages<Approval>({
    queryKey: ['approvals', 'decided', one, tool, principal],
    load: async (after, signal) => {
      const filters = { state: one ?? endedStates, tool, principal };
      const page = await api.approvals.list({ ...filters, ...(after === undefined ? {} : { after }), signal });
      return { data: page.data, next_cursor: page.has_more ? page.data.at(-1)!.id : null };
    },
  });
  const columns: readonly Column<Approval>[] = [
    { name: 'state', heading: texts.state, width: '96px', show: (row) => <StateBadge state={stateOfWait(row)} /> },
    {
      name: 'tool',
      heading: texts.tool,
      width: 'minmax(0, 2fr)',
      show: (row) => (
        <span className={styles.cells}>
          <span className={styles.cut}>{visibleText(row.tool)}</span>
          {row.edited && <Badge>{texts.editedBadge}</Badge>}
        </span>
      ),
    },
    {
      name: 'principal',
      heading: texts.principal,
      width: 'minmax(0, 1fr)',
      isMinor: true,
      show: (row) => visibleText(row.principal),
    },
    {
      name: 'by',
      heading: texts.by,
      width: 'minmax(0, 1fr)',
      show: (row) => visibleText(row.decided_by ?? texts.nobody),
    },
    {
      name: 'reason',
      heading: texts.reason,
      width: 'minmax(0, 2fr)',
      isMinor: true,
      show: (row) => visibleText(row.decision_reason ?? ''),
    },
    {
      name: 'when',
      heading: texts.when,
      width: '96px',
      show: (row) => <TimeAgo time={row.decided_at ?? row.expires_at} />,
    },
  ];
  const isFiltered = one !== undefined || tool !== undefined || principal !== undefined;
  return (
    <div className={styles.table}>
      <div className={bar.bar}>
        <ChoiceFilter
          label={texts.state}
          all={texts.anyState}
          value={one}
          options={endedStates.map((value) => ({ value, title: stateWords[value]?.[language] ?? value }))}
          onChange={(next) => change({ state: next ?? endedStates.join(',') })}
        />
        <TextFilter label={texts.toolFilter} value={tool} onChange={(next) => change({ tool: next })} />
        <TextFilter label={texts.principalFilter} value={principal} onChange={(next) => change({ principal: next })} />
      </div>
      <PagedTable
        label={texts.decided}
        pages={pages}
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/approvals/{-$id}', params: { id } })}
        empty={
          isFiltered ? (
            <Notice text={texts.emptyFilters} />
          ) : (
            <Notice heading={texts.emptyDecided} text={texts.emptyDecidedHint} />
          )
        }
      />
    </div>
  );
}
