// One run: what happened in it and when, as a timeline, as its events and as JSON, and beside it what is known of the chosen part.
import { Link, useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useStrings } from '../../i18n/language.js';
import { DropArea, OpenFileButton } from '../../widgets/files/open-file.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { ListDetail } from '../../widgets/lists/list-detail.js';
import { Page } from '../../widgets/page.js';
import { JsonView } from '../../widgets/shown/json-view.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { Tabs } from '../../widgets/tabs.js';
import { FileFault, useRunFile } from './file/open-run-file.js';
import { EventsTab } from './run/events-tab.js';
import { usePart } from './run/part-panel.js';
import { runStrings } from './run/run-strings.js';
import { runsStrings } from './strings.js';
import { RunActions, RunSummary } from './run/run-summary.js';
import { shownJson } from './run/shown-json.js';
import { timelineOf } from './run/timeline.js';
import { TimelineTab } from './run/timeline-tab.js';
import { useRun } from './run/use-run.js';
import { isGoing } from './run-words.js';

export default function RunView() {
  const texts = useStrings(runStrings);
  const listTexts = useStrings(runsStrings);
  const { id = '' } = useParams({ strict: false });
  const [address, change] = useFilters(['tab', 'part', 'panel', 'source', 'text']);
  const isFile = address.source === 'file';
  const needsEvents = address.tab === 'events' || address.tab === 'json';
  const { run, events, isLive, error, reload } = useRun(id, { isFile, needsEvents });
  const file = useRunFile();
  const timeline = useMemo(() => (run === undefined ? undefined : timelineOf(run)), [run]);
  const partOf = usePart(run, timeline?.parts ?? [], events);
  const whole = useMemo(
    () =>
      run === undefined ? undefined : shownJson({ ...run, ...(events === undefined ? {} : { event_list: events }) }),
    [run, events],
  );
  if (run === undefined || timeline === undefined) {
    return (
      <Page title={texts.title}>
        {isFile ? (
          <DropArea title={listTexts.dropHere} open={file.open}>
            {file.fault !== undefined && <FileFault fault={file.fault} />}
            <Notice heading={texts.fileGone} text={texts.fileGoneText}>
              <OpenFileButton title={listTexts.openFile} accept="application/json,.json" open={file.open} />
              <Link to="/runs">{texts.toRuns}</Link>
            </Notice>
          </DropArea>
        ) : error === null ? (
          <Loading />
        ) : (
          <Failure error={error} onRetry={reload} />
        )}
      </Page>
    );
  }
  const choose = (part: string | undefined) => change({ part, panel: undefined });
  const detail = partOf(address.part, { tab: address.panel, onTab: (panel) => change({ panel }) });
  return (
    <Page title={texts.title} actions={<RunActions run={run} isFile={isFile} />}>
      <RunSummary run={run} isLive={isLive} isFile={isFile} />
      {error !== null && <Failure error={error} onRetry={reload} />}
      <ListDetail detail={detail} onClose={() => choose(undefined)}>
        <Tabs
          label={texts.forms}
          chosen={address.tab}
          onChoose={(tab) => change({ tab: tab === 'timeline' ? undefined : tab })}
          tabs={[
            {
              id: 'timeline',
              title: texts.timeline,
              content: (
                <TimelineTab
                  timeline={timeline}
                  isGoing={isGoing(run.state)}
                  chosen={address.part}
                  onChoose={({ key }) => choose(key)}
                />
              ),
            },
            {
              id: 'events',
              title: texts.events,
              content: (
                <EventsTab
                  events={events}
                  filter={address.text}
                  onFilter={(text) => change({ text })}
                  chosen={address.part}
                  onChoose={({ n }) => choose(`event-${n}`)}
                />
              ),
            },
            { id: 'json', title: texts.json, content: <JsonView value={whole} /> },
          ]}
        />
      </ListDetail>
    </Page>
  );
}
