// The list of runs: what ran, what became of it, what it took.
import { Link } from '@tanstack/react-router';
import { useNavigate } from '@tanstack/react-router';
import type { ListedRun } from '@signalbox/client';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useMe } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { DropArea, OpenFileButton } from '../../widgets/files/open-file.js';
import { type Filters, useFilters } from '../../widgets/lists/filters.js';
import { PagedTable } from '../../widgets/lists/paged-table.js';
import { usePages } from '../../widgets/lists/pages.js';
import { notify, notifyFailure } from '../../widgets/notices.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { DurationLegend } from '../../widgets/shown/duration-bar.js';
import { Notice } from '../../widgets/states.js';
import { FileFault, useRunFile } from './file/open-run-file.js';
import { CancelRuns } from './list/cancel-runs.js';
import { mostExported, readAll, toCsv } from './list/export-runs.js';
import { useRunShapes } from './list/run-columns.js';
import { RunFilters, runFilterNames } from './list/run-filters.js';
import { saveFile } from '../../widgets/save-file.js';
import { runsStrings } from './strings.js';
import styles from './list/runs.module.css';

const pageSize = 100;

type RunFilterValues = Filters<(typeof runFilterNames)[number]>;

export default function RunsView() {
  const texts = useStrings(runsStrings);
  const navigate = useNavigate();
  const [filters, change] = useFilters(runFilterNames);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const file = useRunFile();
  const pages = usePages<ListedRun>({
    queryKey: ['runs', 'list', filters],
    load: (cursor, signal) => api.runs.list({ ...asked(filters), limit: pageSize, cursor, signal }),
  });
  const choose = (id: string, isChosen: boolean) =>
    setChosen((before) => {
      const after = new Set(before);
      if (isChosen) after.add(id);
      else after.delete(id);
      return after;
    });
  const { columns, card } = useRunShapes({ chosen, choose });
  const chosenRuns = pages.rows.filter(({ id }) => chosen.has(id));
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <>
          <Button className={buttons.button} onPress={pages.reload}>
            {texts.refresh}
          </Button>
          <Export filters={filters} />
          <OpenFileButton title={texts.openFile} accept="application/json,.json" open={file.open} />
        </>
      }
    >
      <DropArea title={texts.dropHere} open={file.open}>
        {file.fault !== undefined && <FileFault fault={file.fault} />}
        <RunFilters filters={filters} change={change} />
        <div className={styles.above}>
          <DurationLegend />
          {chosenRuns.length > 0 && <CancelRuns runs={chosenRuns} onDone={() => setChosen(new Set())} />}
        </div>
        <PagedTable
          label={texts.title}
          pages={pages}
          columns={columns}
          card={card}
          rowKey={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/runs/$id', params: { id } })}
          empty={<Empty isFiltered={Object.keys(filters).length > 0} />}
        />
      </DropArea>
    </Page>
  );
}

const asked = ({ state, ...others }: RunFilterValues) => ({
  ...others,
  ...(state === undefined ? {} : { state: state as ListedRun['state'] }),
});

function Export({ filters }: { filters: RunFilterValues }) {
  const texts = useStrings(runsStrings);
  const [isBusy, setBusy] = useState(false);
  async function save(form: 'json' | 'csv') {
    setBusy(true);
    try {
      const { runs, isWhole } = await readAll(asked(filters), new AbortController().signal);
      if (form === 'json') saveFile('runs.json', JSON.stringify(runs, null, 1));
      else saveFile('runs.csv', toCsv(runs), 'text/csv');
      notify(isWhole ? texts.exported(runs.length) : texts.exportedFirst(mostExported));
    } catch (error) {
      notifyFailure(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <Button className={buttons.button} isDisabled={isBusy} onPress={() => void save('json')}>
        {texts.exportJson}
      </Button>
      <Button className={buttons.button} isDisabled={isBusy} onPress={() => void save('csv')}>
        {texts.exportCsv}
      </Button>
    </>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  const texts = useStrings(runsStrings);
  const isOpen = useMe()?.sign_in.open === true;
  if (isFiltered) return <Notice heading={texts.noMatch} text={texts.noMatchText} />;
  const key = isOpen ? '' : ` -H "authorization: Bearer $SIGNALBOX_API_KEY"`;
  const body = `{"messages": [{"role": "user", "content": "What time is it?"}], "tools": [{"type": "mcp", "server_label": "*"}]}`;
  const command = `curl ${gatewayUrl}/v1/chat/completions -H 'content-type: application/json'${key} -d '${body}'`;
  return (
    <Notice heading={texts.emptyHeading} text={texts.emptyText}>
      <Link to="/chat" className={`${buttons.button} ${buttons.primary}`}>
        {texts.tryChat}
      </Link>
      <Command text={command} />
    </Notice>
  );
}
