// What was used and what it cost, by day, key, owner, model or tool, and what is left of budgets.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useMay, useMe } from '../../api/me.js';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { notify, notifyFailure } from '../../widgets/notices.js';
import { Page } from '../../widgets/page.js';
import { saveFile } from '../../widgets/save-file.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { Budgets } from './budgets.js';
import { usageStrings } from './strings.js';
import { UsagePlots } from './usage-plots.js';
import {
  dayAfter,
  daysAgo,
  filtersOf,
  type Group,
  groupOf,
  groups,
  narrowing,
  periodOf,
  periods,
  type UsageAddress,
  usageNames,
} from './usage-query.js';
import { UsageTable } from './usage-table.js';
import styles from './usage.module.css';

export default function UsageView() {
  const texts = useStrings(usageStrings);
  const [address, change] = useFilters(usageNames);
  const group = groupOf(address);
  return (
    <Page title={texts.title} about={texts.about} actions={<Export address={address} group={group} />}>
      <div className={bar.bar} role="search" aria-label={texts.filters}>
        <Period address={address} change={change} />
        <GroupChoice group={group} onChoose={(by) => change({ by })} />
        {narrowing.map((name) => {
          const value = address[name];
          return value === undefined ? null : (
            <Button
              key={name}
              className={`${buttons.button} ${styles.only}`}
              aria-label={`${texts.onlyOf(texts[name], visibleText(value))}. ${texts.clear}`}
              onPress={() => change({ [name]: undefined })}
            >
              <span className={styles.cut}>{texts.onlyOf(texts[name], visibleText(value))}</span>
              <Icon name="close" size={12} />
            </Button>
          );
        })}
      </div>
      <Report address={address} group={group} />
      <Budgets />
    </Page>
  );
}

interface PeriodProps {
  address: UsageAddress;
  change: (changes: { since?: string | undefined; until?: string | undefined }) => void;
}

function Period({ address, change }: PeriodProps) {
  const texts = useStrings(usageStrings);
  const period = periodOf(address);
  const dayField = (label: string, value: string | undefined, set: (day: string) => void) => (
    <label className={styles.day}>
      <span>{label}</span>
      <input
        type="date"
        className={bar.choice}
        value={value ?? ''}
        onChange={({ target }) => target.value !== '' && set(target.value)}
      />
    </label>
  );
  return (
    <>
      <div className={styles.switch} role="group" aria-label={texts.period}>
        {periods.map((days) => (
          <button
            key={days}
            type="button"
            aria-pressed={address.until === undefined && period?.first === daysAgo(days)}
            onClick={() => change({ since: daysAgo(days), until: undefined })}
          >
            {texts.days(days)}
          </button>
        ))}
      </div>
      {dayField(texts.since, period?.first, (day) => change({ since: day }))}
      {dayField(texts.until, period?.last, (day) => change({ since: period?.first, until: dayAfter(day) }))}
    </>
  );
}

function GroupChoice({ group, onChoose }: { group: Group; onChoose: (group: Group) => void }) {
  const texts = useStrings(usageStrings);
  const isAdmin = useMay('admin') === true;
  return (
    <label className={styles.day}>
      <span>{texts.by}</span>
      <select className={bar.choice} value={group} onChange={({ target }) => onChoose(target.value as Group)}>
        {groups
          .filter((each) => each !== 'principal' || isAdmin)
          .map((each) => (
            <option key={each} value={each}>
              {texts[each]}
            </option>
          ))}
      </select>
    </label>
  );
}

function Report({ address, group }: { address: UsageAddress; group: Group }) {
  const texts = useStrings(usageStrings);
  const formats = useFormats();
  const filters = filtersOf(address);
  const report = (by: Group) => ({
    queryKey: ['usage', by, filters],
    queryFn: ({ signal }: { signal: AbortSignal }) => api.operations.usage({ ...filters, by: [by], signal }),
  });
  const byDay = useQuery(report('day'));
  const byGroup = useQuery(report(group));
  const error = byDay.error ?? byGroup.error;
  const retry = () => void Promise.all([byDay.refetch(), byGroup.refetch()]);
  if (error !== null) return <Failure error={error} onRetry={retry} />;
  const period = periodOf(address);
  if (byDay.data === undefined || byGroup.data === undefined || period === undefined) return <Loading />;
  const { data, total } = byDay.data;
  if (data.length === 0) return <Empty />;
  const { model, tool, principal } = address;
  const runs = {
    since: `${period.first}T00:00:00.000Z`,
    until: `${dayAfter(period.last)}T00:00:00.000Z`,
    ...(model === undefined ? {} : { model }),
    ...(tool === undefined ? {} : { tool }),
    ...(principal === undefined ? {} : { principal }),
  };
  return (
    <>
      {total.unpriced_tokens > 0 && (
        <div className={styles.unpriced} role="note">
          <p>{texts.unpriced(formats.number(total.unpriced_tokens))}</p>
          <Command text="models: { prices: { 'MODEL': { input: 1, output: 4 } } }" />
        </div>
      )}
      <UsagePlots rows={data} total={total} period={period} runs={runs} />
      <UsageTable key={group} rows={byGroup.data.data} group={group} period={period} />
    </>
  );
}

function Empty() {
  const texts = useStrings(usageStrings);
  const isOpen = useMe()?.sign_in.open === true;
  const key = isOpen ? '' : ` -H "authorization: Bearer $SIGNALBOX_API_KEY"`;
  const body = '{"messages": [{"role": "user", "content": "Hello"}]}';
  return (
    <Notice heading={texts.emptyHeading} text={texts.empty}>
      <Command text={`curl ${gatewayUrl}/v1/chat/completions -H 'content-type: application/json'${key} -d '${body}'`} />
    </Notice>
  );
}

function Export({ address, group }: { address: UsageAddress; group: Group }) {
  const texts = useStrings(usageStrings);
  const [isBusy, setBusy] = useState(false);
  async function save() {
    setBusy(true);
    try {
      const by: readonly Group[] = group === 'day' ? ['day'] : ['day', group];
      const answer = await api.operations.usageCsv({ ...filtersOf(address), by });
      saveFile('usage.csv', await answer.blob());
      notify(texts.saved);
    } catch (error) {
      notifyFailure(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button className={buttons.button} isDisabled={isBusy} onPress={() => void save()}>
      {texts.csv}
    </Button>
  );
}
