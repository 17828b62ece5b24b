// What the list shows of each row: as columns, and as a card in a narrow window.
import type { AuditRow } from '@signalbox/client';
import type { ReactNode } from 'react';
import { errorWords } from '../../../api/error-words.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import type { Column } from '../../../widgets/lists/data-table.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { auditStrings } from '../strings.js';
import styles from '../audit.module.css';
import { kindWord, subjectOf } from './kind-words.js';

/** `isBeside`: beside the details of a row, where there is less room. */
export function useAuditShapes(isBeside: boolean): {
  columns: readonly Column<AuditRow>[];
  card: (row: AuditRow) => ReactNode;
} {
  const texts = useStrings(auditStrings);
  const formats = useFormats();
  const { language } = useLanguage();
  const kind = (row: AuditRow) => visibleText(kindWord(row.kind, language));
  const subject = (row: AuditRow) => {
    const shown = visibleText(subjectOf(row));
    return (
      <span className={styles.cut} title={shown}>
        {shown}
      </span>
    );
  };
  const duration = ({ duration_ms: ms }: AuditRow) => (ms === null ? '' : formats.duration(ms));
  const principal = (row: AuditRow) => (
    <span className={styles.cut} title={visibleText(row.principal)}>
      {visibleText(row.principal)}
    </span>
  );
  const beside = new Set(['principal', 'duration']);
  const columns: readonly Column<AuditRow>[] = [
    { name: 'time', heading: texts.time, width: '96px', show: ({ at }) => <TimeAgo time={at} /> },
    { name: 'kind', heading: texts.kind, width: 'minmax(84px, 0.8fr)', show: kind },
    { name: 'what', heading: texts.what, width: 'minmax(0, 2fr)', show: subject },
    { name: 'principal', heading: texts.principal, width: 'minmax(0, 1fr)', isMinor: true, show: principal },
    { name: 'outcome', heading: texts.outcome, width: 'minmax(120px, 1.6fr)', show: (row) => <Outcome row={row} /> },
    { name: 'duration', heading: texts.duration, width: '72px', isNumber: true, isMinor: true, show: duration },
  ];
  return {
    columns: columns.filter(({ name }) => !isBeside || !beside.has(name)),
    card: (row) => (
      <div className={styles.card}>
        <div className={styles.cardLine}>
          <strong>{subject(row)}</strong>
          <TimeAgo time={row.at} />
        </div>
        <div className={styles.cardLine}>
          <Outcome row={row} />
        </div>
        <div className={`${styles.cardLine} ${styles.soft}`}>
          <span>{kind(row)}</span>
          {principal(row)}
          <span>{duration(row)}</span>
        </div>
      </div>
    ),
  };

  function Outcome({ row }: { row: AuditRow }) {
    return <RowOutcome row={row} word={row.error_code === null ? undefined : errorWords(row.error_code, language)} />;
  }
}

/** The state, or success and failure for rows without one, and why. */
export function RowOutcome({ row, word }: { row: AuditRow; word?: string | undefined }) {
  const texts = useStrings(auditStrings);
  const why = row.error_code === null ? undefined : visibleText(word ?? row.error_code);
  return (
    <span className={styles.outcome} title={why}>
      {row.state === null || row.state === '' ? (
        <Badge tone={row.success ? 'good' : 'bad'}>{row.success ? texts.success : texts.failure}</Badge>
      ) : (
        <StateBadge state={visibleText(row.state)} />
      )}
      {why !== undefined && <span className={styles.why}>{why}</span>}
    </span>
  );
}
