// A table of a list's pages, with what stands there while it loads, when it is empty, and when it failed.
import { type ReactNode, useCallback } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { Failure, Loading } from '../states.js';
import { widgetStrings } from '../strings.js';
import { DataTable, type DataTableProps } from './data-table.js';
import type { Pages } from './pages.js';
import styles from './paged-table.module.css';

export interface PagedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'onEnd'> {
  pages: Pages<Row>;
  /** In place of a table without rows: a `Notice` with the next step. */
  empty: ReactNode;
}

export function PagedTable<Row>({ pages, empty, ...table }: PagedTableProps<Row>) {
  const texts = useStrings(widgetStrings);
  const { rows, isLoading, error, hasMore, isLoadingMore, loadMore, reload } = pages;
  // A page that failed is asked for again by a person, not by the next frame.
  const goesOn = hasMore && !isLoadingMore && error === null;
  const next = useCallback(() => (goesOn ? loadMore() : undefined), [goesOn, loadMore]);
  if (isLoading) return <Loading />;
  if (rows.length === 0) return error === null ? empty : <Failure error={error} onRetry={reload} />;
  return (
    <div>
      {error !== null && <Failure error={error} onRetry={hasMore ? loadMore : reload} />}
      <DataTable {...table} rows={rows} onEnd={next} />
      <div className={styles.foot}>
        {hasMore ? (
          <Button className={buttons.button} isDisabled={isLoadingMore} onPress={loadMore}>
            {isLoadingMore ? texts.loading : texts.more}
          </Button>
        ) : (
          <span>{texts.rows(rows.length)}</span>
        )}
      </div>
    </div>
  );
}
