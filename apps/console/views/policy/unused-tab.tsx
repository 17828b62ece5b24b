// Rights that nobody used: what each key may call and did not, with the rule that takes that away.
import type { UnusedRights } from '@signalbox/client';
import { useState } from 'react';
import { api } from '../../api/api.js';
import { useQuery } from '@tanstack/react-query';
import { useStrings } from '../../i18n/language.js';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { usePages } from '../../widgets/lists/pages.js';
import { Button } from 'react-aria-components/Button';
import buttons from '../../widgets/button.module.css';
import { Badge } from '../../widgets/shown/badge.js';
import { CopyButton } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { widgetStrings } from '../../widgets/strings.js';
import { policyStrings } from './strings.js';
import styles from './policy.module.css';

type Row = UnusedRights['data'][number];

const periods = [7, 30, 90];
const shownFirst = 12;

export function UnusedTab() {
  const texts = useStrings(policyStrings);
  const words = useStrings(widgetStrings);
  const [{ days }, change] = useFilters(['days']);
  const period = periods.find((each) => String(each) === days) ?? 30;
  const rules = useQuery({
    queryKey: ['policy', 'unused-rules', period],
    queryFn: async ({ signal }) => (await api.operations.policy.unused({ days: period, limit: 1, signal })).rules,
  });
  const pages = usePages<Row>({
    queryKey: ['policy', 'unused', period],
    load: async (after, signal) => {
      const page = await api.operations.policy.unused({
        days: period,
        ...(after === undefined ? {} : { after }),
        signal,
      });
      return { data: page.data, next_cursor: page.has_more ? (page.data.at(-1)?.key_id ?? null) : null };
    },
  });
  const idle = pages.rows.filter((row) => row.unused_count > 0);
  return (
    <div className={styles.part}>
      <div className={bar.bar}>
        <select
          aria-label={texts.period}
          className={bar.choice}
          value={period}
          onChange={({ target }) => change({ days: target.value })}
        >
          {periods.map((each) => (
            <option key={each} value={each}>
              {texts.lastDays(each)}
            </option>
          ))}
        </select>
      </div>
      <p className={styles.soft}>{texts.unusedHint}</p>
      {(rules.data?.length ?? 0) > 0 && (
        <section aria-label={texts.unusedRules} className={styles.part}>
          <h2>{texts.unusedRules}</h2>
          <p className={styles.names}>
            {rules.data!.map((rule) => (
              <code key={rule}>{visibleText(rule)}</code>
            ))}
          </p>
        </section>
      )}
      {pages.error !== null && <Failure error={pages.error} onRetry={pages.reload} />}
      {pages.isLoading && <Loading />}
      {!pages.isLoading && pages.error === null && idle.length === 0 && !pages.hasMore && (
        <Notice heading={texts.allUsed} text={texts.allUsedHint} />
      )}
      <div className={styles.cards}>
        {idle.map((row) => (
          <KeyCard key={row.key_id ?? ''} row={row} />
        ))}
      </div>
      {pages.hasMore && (
        <Button className={buttons.button} isDisabled={pages.isLoadingMore} onPress={pages.loadMore}>
          {words.more}
        </Button>
      )}
    </div>
  );
}

function KeyCard({ row }: { row: Row }) {
  const texts = useStrings(policyStrings);
  const formats = useFormats();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? row.unused : row.unused.slice(0, shownFirst);
  const title = visibleText(row.name ?? row.owner);
  const { rule, tools } = row;
  return (
    <article className={styles.keyCard} aria-label={title}>
      <header className={styles.line}>
        <h3 className={styles.cut}>{title}</h3>
        {row.name !== null && <span className={styles.soft}>{visibleText(row.owner)}</span>}
        {row.prefix !== null && <code>{row.prefix}…</code>}
        {row.used.length === 0 && <Badge tone="warn">{texts.nothingUsed}</Badge>}
      </header>
      <p>{texts.unusedOf(formats.number(row.unused_count), formats.number(row.allowed))}</p>
      <p className={styles.names}>
        {shown.map((tool) => (
          <code key={tool}>{visibleText(tool)}</code>
        ))}
      </p>
      <div className={styles.line}>
        {row.unused.length > shown.length && (
          <Button className={`${buttons.button} ${buttons.quiet}`} onPress={() => setWhole(true)}>
            {texts.showAll(formats.number(row.unused.length))}
          </Button>
        )}
        {rule !== null && <CopyButton text={rule} label={texts.copyRule} isWorded />}
        {tools !== null && <CopyButton text={JSON.stringify({ tools })} label={texts.copyTools} isWorded />}
      </div>
    </article>
  );
}
