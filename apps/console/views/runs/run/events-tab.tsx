// The events of a run: numbered, each on one line.
import { useMemo } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { type Column, DataTable } from '../../../widgets/lists/data-table.js';
import { TextFilter } from '../../../widgets/lists/text-filter.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Loading, Notice } from '../../../widgets/states.js';
import type { RunEvent } from './live-events.js';
import { runStrings } from './run-strings.js';
import { maskedText, shownJson } from './shown-json.js';
import styles from './run.module.css';

export interface EventsTabProps {
  events: readonly RunEvent[] | undefined;
  filter: string | undefined;
  onFilter: (text: string | undefined) => void;
  chosen: string | undefined;
  onChoose: (event: RunEvent) => void;
}

const shownLength = 300;

export function EventsTab({ events, filter, onFilter, chosen, onChoose }: EventsTabProps) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  const wanted = (filter ?? '').toLowerCase();
  const found = useMemo(
    () =>
      wanted === ''
        ? (events ?? [])
        : (events ?? []).filter((event) => `${event.type} ${lineOf(event)}`.toLowerCase().includes(wanted)),
    [events, wanted],
  );
  if (events === undefined) return <Loading />;
  const columns: Column<RunEvent>[] = [
    { name: 'n', heading: texts.number, width: '56px', isNumber: true, show: ({ n }) => formats.number(n) },
    { name: 'type', heading: texts.kind, width: '130px', show: ({ type }) => <code>{visibleText(type)}</code> },
    {
      name: 'content',
      heading: texts.content,
      width: 'minmax(0, 1fr)',
      show: (event) => <span className={styles.line}>{visibleText(lineOf(event).slice(0, shownLength))}</span>,
    },
  ];
  return (
    <>
      <TextFilter label={texts.filterEvents} value={filter} onChange={onFilter} />
      {found.length === 0 ? (
        <Notice text={texts.noEvents} />
      ) : (
        <DataTable
          label={texts.events}
          columns={columns}
          rows={found}
          rowKey={(event) => `event-${event.n}`}
          chosen={chosen}
          onOpen={onChoose}
          rowHeight={32}
        />
      )}
    </>
  );
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What the event says, without its number and type. */
function lineOf(event: RunEvent): string {
  switch (event.type) {
    case 'content':
    case 'reasoning':
      return text(event['text']);
    case 'tool_call':
      return `${text(event['name'])} ${maskedText(text(event['arguments']))}`;
    default: {
      const { n: _n, type: _type, ...members } = event;
      return JSON.stringify(shownJson(members));
    }
  }
}
