// A table of any length: only rows near the window are in the document. The page scrolls, not the table. Rows that open
// something are walked by the arrow keys, and opened by Enter or a click.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react';
import styles from './data-table.module.css';

export interface Column<Row> {
  name: string;
  heading: string;
  /** A CSS grid track: `120px`, `minmax(0, 2fr)`. */
  width: string;
  /** Right-aligned figures. */
  isNumber?: boolean;
  /** Left out in a narrow window. */
  isMinor?: boolean;
  show: (row: Row) => ReactNode;
}

export interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** The key of the row whose details are open. */
  chosen?: string | undefined;
  onOpen?: (row: Row) => void;
  /** Called when the last row comes near the window. */
  onEnd?: (() => void) | undefined;
  rowHeight?: number;
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, chosen, onOpen, onEnd, rowHeight = 40 } = props;
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const walks = useRef(false);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rowKey(rows[index]!),
    overscan: 12,
    scrollMargin: top,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index;

  useEffect(() => {
    const rect = body.current?.getBoundingClientRect();
    if (rect !== undefined) setTop(Math.round(rect.top + window.scrollY));
  }, [rows.length]);
  useEffect(() => {
    if (last !== undefined && last >= rows.length - 1) onEnd?.();
  }, [last, rows.length, onEnd]);
  useEffect(() => {
    if (!walks.current) return;
    const row = body.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (row === null || row === undefined) return;
    walks.current = false;
    row.focus();
  });

  function walk(event: KeyboardEvent) {
    const steps: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: rows.length - 1 };
    const next = steps[event.key];
    if (next === undefined || (event.target as HTMLElement).closest('input, select, textarea') !== null) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(rows.length - 1, next));
    walks.current = true;
    setActive(index);
    virtual.scrollToIndex(index);
  }

  const tracks = (each: readonly Column<Row>[]) => each.map(({ width }) => width).join(' ');
  const style = {
    '--tracks': tracks(columns),
    '--tracks-narrow': tracks(columns.filter(({ isMinor }) => isMinor !== true)),
  } as CSSProperties;
  const opens = onOpen !== undefined;
  const classOf = ({ isNumber, isMinor }: Column<Row>) =>
    [styles.cell, isNumber === true && styles.number, isMinor === true && styles.minor].filter(Boolean).join(' ');
  return (
    <div
      role={opens ? 'grid' : 'table'}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      className={styles.table}
      style={style}
    >
      <div role="rowgroup" className={styles.head}>
        <div role="row" aria-rowindex={1} className={styles.row}>
          {columns.map((column) => (
            <div key={column.name} role="columnheader" className={classOf(column)}>
              {column.heading}
            </div>
          ))}
        </div>
      </div>
      <div
        ref={body}
        role="rowgroup"
        className={styles.body}
        style={{ height: virtual.getTotalSize() }}
        onKeyDown={opens ? walk : undefined}
      >
        {items.map(({ index, key, start }) => {
          const row = rows[index]!;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              role="row"
              data-index={index}
              aria-rowindex={index + 2}
              aria-selected={opens ? key === chosen : undefined}
              tabIndex={opens ? (index === Math.min(active, rows.length - 1) ? 0 : -1) : undefined}
              className={opens ? `${styles.row} ${styles.opens}` : styles.row}
              style={{ transform: `translateY(${start - top}px)`, minHeight: rowHeight }}
              onFocus={() => setActive(index)}
              onClick={opens ? (event) => leadsElsewhere(event) || onOpen(row) : undefined}
              onKeyDown={opens ? (event) => isEnter(event) && onOpen(row) : undefined}
            >
              {columns.map((column) => (
                <div key={column.name} role={opens ? 'gridcell' : 'cell'} className={classOf(column)}>
                  {column.show(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A click on a link or a button of a row means that, and one that ends a selection of text means nothing. */
const leadsElsewhere = ({ target }: MouseEvent): boolean =>
  (target as HTMLElement).closest('a, button, input, label') !== null || getSelection()?.isCollapsed === false;

const isEnter = ({ key, target, currentTarget }: KeyboardEvent): boolean => key === 'Enter' && target === currentTarget;
