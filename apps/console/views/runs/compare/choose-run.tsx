// Chooses a run to compare: by its id, from the recent ones, or from a file.
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Labelled } from '../../../widgets/forms/labelled.js';
import forms from '../../../widgets/forms/schema-form.module.css';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../../widgets/states.js';
import { OpenFileButton } from '../../../widgets/files/open-file.js';
import { FileFault, useRunFile } from '../file/open-run-file.js';
import { runsStrings } from '../strings.js';
import { compareStrings } from './compare-strings.js';
import styles from './compare.module.css';

const mostRecent = 20;

export interface ChooseRunProps {
  side: string;
  /** The run of the other side, which is not offered. */
  other: string | undefined;
  onChoose: (id: string, source?: 'file') => void;
}

export function ChooseRun({ side, other, onChoose }: ChooseRunProps) {
  const texts = useStrings(compareStrings);
  const listTexts = useStrings(runsStrings);
  const [id, setId] = useState('');
  const file = useRunFile((opened) => onChoose(opened, 'file'));
  const recent = useQuery({
    queryKey: ['runs', 'recent'],
    queryFn: ({ signal }) => api.runs.list({ limit: mostRecent, signal }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() !== '') onChoose(id.trim());
  };
  const runs = recent.data?.data.filter((run) => run.id !== other) ?? [];
  return (
    <section className={styles.chooser} aria-label={`${side}: ${texts.choose}`}>
      <h2>
        {side}: {texts.choose}
      </h2>
      <form className={styles.byId} onSubmit={submit}>
        <Labelled label={texts.runId}>
          {(field) => (
            <input
              {...field}
              className={forms.input}
              autoComplete="off"
              spellCheck={false}
              value={id}
              onChange={({ target }) => setId(target.value)}
            />
          )}
        </Labelled>
        <Button type="submit" className={buttons.button} isDisabled={id.trim() === ''}>
          {texts.useRun}
        </Button>
        <OpenFileButton title={listTexts.openFile} accept="application/json,.json" open={file.open} />
      </form>
      {file.fault !== undefined && <FileFault fault={file.fault} />}
      <h3>{texts.recent}</h3>
      {recent.error !== null ? (
        <Failure error={recent.error} onRetry={() => void recent.refetch()} />
      ) : recent.data === undefined ? (
        <Loading />
      ) : runs.length === 0 ? (
        <Notice text={texts.noRecent} />
      ) : (
        <ul className={styles.recent}>
          {runs.map((run) => (
            <li key={run.id}>
              <Button className={styles.choice} aria-label={run.id} onPress={() => onChoose(run.id)}>
                <TimeAgo time={run.created_at} />
                <StateBadge state={run.state} />
                {run.replay_of !== null && <Badge>{texts.replay}</Badge>}
                <span>{visibleText(run.model ?? '–')}</span>
                <span className={styles.soft}>{run.tools.map(visibleText).join(', ')}</span>
              </Button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
