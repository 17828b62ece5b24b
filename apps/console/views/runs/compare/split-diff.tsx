// Two texts, line beside line; in a narrow window, line below line.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { compareStrings } from './compare-strings.js';
import { type DiffRow, lineDiff, mostCompared } from './line-diff.js';
import styles from './compare.module.css';

const firstRows = 200;
const moreRows = 1_000;
/** What is shown of one line. */
const mostOfLine = 2_000;

export interface SplitDiffProps {
  name: string;
  left: string | undefined;
  right: string | undefined;
}

export function SplitDiff({ name, left, right }: SplitDiffProps) {
  const texts = useStrings(compareStrings);
  const [most, setMost] = useState(firstRows);
  const rows = lineDiff(left, right);
  const isCut = Math.max(left?.length ?? 0, right?.length ?? 0) > mostCompared;
  return (
    <div className={styles.diff} role="group" aria-label={name} tabIndex={0}>
      {rows.slice(0, most).map((row, at) => (
        <Row key={at} row={row} />
      ))}
      {rows.length > most && (
        <Button className={buttons.button} onPress={() => setMost(most + moreRows)}>
          {texts.moreLines(rows.length - most)}
        </Button>
      )}
      {isCut && <p className={styles.soft}>{texts.cut}</p>}
    </div>
  );
}

function Row({ row }: { row: DiffRow }) {
  const texts = useStrings(compareStrings);
  if (row.kind === 'skipped') return <p className={styles.skipped}>{texts.sameLines(row.count)}</p>;
  if (row.kind === 'same') {
    return (
      <div className={styles.row}>
        <div className={styles.line}>{shownLine(row.text)}</div>
        <div className={`${styles.line} ${styles.again}`} aria-hidden="true">
          {shownLine(row.text)}
        </div>
      </div>
    );
  }
  return (
    <div className={styles.row}>
      {row.left === undefined ? (
        <div className={styles.none} />
      ) : (
        <del className={`${styles.line} ${styles.before}`}>{shownLine(row.left)}</del>
      )}
      {row.right === undefined ? (
        <div className={styles.none} />
      ) : (
        <ins className={`${styles.line} ${styles.after}`}>{shownLine(row.right)}</ins>
      )}
    </div>
  );
}

const shownLine = (line: string): string =>
  visibleText(line.length > mostOfLine ? `${line.slice(0, mostOfLine)}…` : line) || '\u00a0';
