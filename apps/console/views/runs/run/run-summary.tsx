// What a run is and took, in a few lines, and what can be done with it.
import { Link } from '@tanstack/react-router';
import { useQueryClient } from '@tanstack/react-query';
import type { RunDetails } from '@signalbox/client';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../../api/addresses.js';
import { api } from '../../../api/api.js';
import { useMe } from '../../../api/me.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { ConfirmDialog } from '../../../widgets/dialog.js';
import { notify, notifyFailure } from '../../../widgets/notices.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { CopyButton } from '../../../widgets/shown/copy-button.js';
import { DurationBar } from '../../../widgets/shown/duration-bar.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { cancelRun } from '../cancel-run.js';
import { saveRun } from '../file/run-file.js';
import { isGoing, useRunWords } from '../run-words.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { ReplayRun } from '../replay/replay-run.js';
import { runStrings } from './run-strings.js';
import styles from './run.module.css';

export function RunSummary({ run, isLive, isFile }: { run: RunDetails; isLive: boolean; isFile: boolean }) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  const why = useRunWords()(run);
  const usage = usageOf(run);
  return (
    <section className={styles.summary}>
      <div className={styles.state}>
        <StateBadge state={run.state} />
        {isLive && <Badge tone="accent">{texts.live}</Badge>}
        {isFile && <Badge>{texts.fromFile}</Badge>}
        {typeof run.replay_of === 'string' && (
          <span>
            {texts.replayOf}{' '}
            <Link to="/runs/$id" params={{ id: run.replay_of }}>
              {visibleText(run.replay_of)}
            </Link>
          </span>
        )}
        {why !== undefined && <span>{why}</span>}
        <code className={styles.id}>{visibleText(run.id)}</code>
        <CopyButton text={run.id} label={texts.copyId} />
      </div>
      {isFile && (
        <p className={styles.soft}>
          {texts.fromFileText}{' '}
          <Link to="/runs/$id" params={{ id: run.id }}>
            {texts.askGateway}
          </Link>
        </p>
      )}
      <Facts layout="blocks">
        <Fact name={texts.started}>
          <TimeAgo time={run.created_at} />
        </Fact>
        <Fact name={texts.caller}>{visibleText(run.principal)}</Fact>
        <Fact name={texts.model}>{visibleText(run.model ?? '–')}</Fact>
        <Fact name={texts.session}>
          {run.session_id === null ? (
            '–'
          ) : (
            <Link to="/sessions/{-$id}" params={{ id: run.session_id }}>
              {visibleText(run.session_id)}
            </Link>
          )}
        </Fact>
        <Fact name={texts.rounds}>{formats.number(run.rounds)}</Fact>
        <Fact name={texts.calls}>{formats.number(run.calls)}</Fact>
        <Fact name={texts.tokens}>
          {texts.tokensOf(formats.number(usage.prompt), formats.number(usage.completion))}
        </Fact>
        <Fact name={texts.cost}>{run.cost_usd === null ? texts.unknownCost : formats.usd(run.cost_usd)}</Fact>
        <Fact name={texts.duration}>
          <span className={styles.duration}>
            {formats.duration(run.duration_ms)}
            <DurationBar spentMs={run.spent_ms} />
          </span>
        </Fact>
      </Facts>
    </section>
  );
}

/** The sum of a run is written at its end. */
function usageOf({ usage, round_list: rounds = [] }: RunDetails): { prompt: number; completion: number } {
  if (usage.total_tokens > 0) return { prompt: usage.prompt_tokens, completion: usage.completion_tokens };
  return rounds.reduce(
    (sum, round) => ({
      prompt: sum.prompt + round.usage.prompt_tokens,
      completion: sum.completion + round.usage.completion_tokens,
    }),
    { prompt: 0, completion: 0 },
  );
}

export function RunActions({ run, isFile }: { run: RunDetails; isFile: boolean }) {
  const texts = useStrings(runStrings);
  const isOpen = useMe()?.sign_in.open === true;
  async function download() {
    try {
      saveRun(isFile ? run : await api.runs.get(run.id, { include: ['rounds', 'calls', 'events'] }));
    } catch (error) {
      notifyFailure(error);
    }
  }
  const mayStop = isGoing(run.state) || run.state === 'interrupted';
  return (
    <>
      {!isFile && mayStop && <CancelRun run={run} />}
      {!isFile && !isGoing(run.state) && <ReplayRun run={run} />}
      <Link to="/runs/compare" search={comparison(run, isFile)} className={buttons.button}>
        {texts.compare}
      </Link>
      <CopyButton text={curlOf(run.id, isOpen)} label={texts.asCurl} isWorded />
      <Button className={buttons.button} onPress={() => void download()}>
        {texts.download}
      </Button>
    </>
  );
}

/** With its original, if it is a replay. */
function comparison({ id, replay_of: original }: RunDetails, isFile: boolean) {
  const source = isFile ? 'file' : undefined;
  if (typeof original !== 'string') return { left: id, left_source: source };
  return { left: original, right: id, right_source: source };
}

const curlOf = (id: string, isOpen: boolean): string =>
  [
    `curl '${gatewayUrl}/api/runs/${encodeURIComponent(id)}?include=rounds,calls,events'`,
    ...(isOpen ? [] : ['-H "authorization: Bearer $SIGNALBOX_API_KEY"']),
  ].join(' ');

function CancelRun({ run }: { run: RunDetails }) {
  const texts = useStrings(runStrings);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  async function cancel() {
    setBusy(true);
    try {
      const said = { cancelled: texts.cancelled, stopping: texts.cancelSoon, ended: texts.cancelLate };
      notify(said[await cancelRun(run)]);
    } catch (error) {
      notifyFailure(error);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ['runs'] });
  }
  return (
    <>
      <Button className={`${buttons.button} ${buttons.danger}`} isDisabled={isBusy} onPress={() => setAsking(true)}>
        {texts.cancel}
      </Button>
      <ConfirmDialog
        heading={texts.cancelHeading}
        text={texts.cancelText}
        action={texts.cancelRun}
        isOpen={isAsking}
        onConfirm={() => void cancel()}
        onClose={() => setAsking(false)}
      />
    </>
  );
}
