// What can be done with the chosen runs: cancel them, after asking, and compare two of them.
import { Link } from '@tanstack/react-router';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { ListedRun } from '@signalbox/client';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { ConfirmDialog } from '../../../widgets/dialog.js';
import { notify, notifyFailure } from '../../../widgets/notices.js';
import { type Cancelled, cancelRun } from '../cancel-run.js';
import { runsStrings } from '../strings.js';
import styles from './runs.module.css';

const atOnce = 4;

export function CancelRuns({ runs, onDone }: { runs: readonly ListedRun[]; onDone: () => void }) {
  const texts = useStrings(runsStrings);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);

  async function cancel() {
    setBusy(true);
    const { cancelled, ended, stopping, failures } = await cancelAll(runs);
    setBusy(false);
    const said = [
      ...(cancelled > 0 ? [texts.cancelled(cancelled)] : []),
      ...(stopping > 0 ? [texts.stopping(stopping)] : []),
      ...(ended > 0 ? [texts.hadEnded(ended)] : []),
      ...(failures.length > 0 ? [texts.notCancelled(failures.length)] : []),
    ];
    notify(said.join(' · '));
    if (failures.length > 0) notifyFailure(failures[0]);
    onDone();
    await queries.invalidateQueries({ queryKey: ['runs'] });
  }

  return (
    <div className={styles.chosen} role="group" aria-label={texts.chosen(runs.length)}>
      <span>{texts.chosen(runs.length)}</span>
      <Button className={`${buttons.button} ${buttons.danger}`} isDisabled={isBusy} onPress={() => setAsking(true)}>
        {texts.cancelRuns}
      </Button>
      {runs.length === 2 && (
        <Link to="/runs/compare" search={{ left: runs[1]!.id, right: runs[0]!.id }} className={buttons.button}>
          {texts.compare}
        </Link>
      )}
      <Button className={`${buttons.button} ${buttons.quiet}`} onPress={onDone}>
        {texts.unchoose}
      </Button>
      <ConfirmDialog
        heading={texts.cancelHeading(runs.length)}
        text={texts.cancelText}
        action={texts.cancelRuns}
        isOpen={isAsking}
        onConfirm={() => void cancel()}
        onClose={() => setAsking(false)}
      />
    </div>
  );
}

interface Outcome extends Record<Cancelled, number> {
  failures: unknown[];
}

async function cancelAll(runs: readonly ListedRun[]): Promise<Outcome> {
  const rest = [...runs];
  const outcome: Outcome = { cancelled: 0, ended: 0, stopping: 0, failures: [] };
  async function work() {
    for (let run = rest.shift(); run !== undefined; run = rest.shift()) {
      try {
        outcome[await cancelRun(run)] += 1;
      } catch (error) {
        outcome.failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  return outcome;
}
