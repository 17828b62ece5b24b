// What waits, oldest first. It is asked for again while the page is seen. A card that was decided here, or that somebody else decided
// while it was selected, stays in its place and says how it ended.
import type { Approval } from '@signalbox/client';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { type DecisionMode, useDecision } from '../../widgets/decisions/decide-call.js';
import { usePages } from '../../widgets/lists/pages.js';
import { notifyFailure } from '../../widgets/notices.js';
import { useShortcut } from '../../widgets/shortcuts.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { widgetStrings } from '../../widgets/strings.js';
import { ApprovalCard, EndedCard } from './approval-card.js';
import { useSignInAddress } from './approval-facts.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

const lookMs = 3_000;
const pageSize = 50;
const mostEnded = 20;
const exampleRule = "- { name: deletions, tool: '*/delete_*', effect: require_approval, reason: Deletes something }";

interface Ended {
  approval: Approval;
  byOthers: boolean;
}

export function WaitingList() {
  const texts = useStrings(approvalsStrings);
  const { more } = useStrings(widgetStrings);
  const pages = usePages<Approval>({
    queryKey: ['approvals', 'waiting'],
    load: async (after, signal) => {
      const { data, has_more } = await api.approvals.list({
        state: 'waiting',
        order: 'asc',
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
        signal,
      });
      return { data, next_cursor: has_more ? data.at(-1)!.id : null };
    },
    refetchInterval: lookMs,
  });
  const [ended, setEnded] = useState<readonly Ended[]>([]);
  const [selected, setSelected] = useState<Approval>();
  const [mode, setMode] = useState<DecisionMode>('choose');
  const waiting = useMemo(
    () => pages.rows.filter(({ id }) => !ended.some(({ approval }) => approval.id === id)),
    [pages.rows, ended],
  );
  const select = useCallback((approval: Approval | undefined, next: DecisionMode = 'choose') => {
    setSelected(approval);
    setMode(next);
  }, []);
  const end = useCallback((approval: Approval, byOthers: boolean) => {
    setEnded((before) =>
      [...before.filter((each) => each.approval.id !== approval.id), { approval, byOthers }].slice(-mostEnded),
    );
    setSelected((before) => (before?.id === approval.id ? undefined : before));
    setMode('choose');
  }, []);

  // Somebody else decided about the selected one, or it expired.
  const isGone = selected !== undefined && !pages.isLoading && !pages.rows.some(({ id }) => id === selected.id);
  useEffect(() => {
    if (!isGone) return undefined;
    const leaving = new AbortController();
    api.approvals.get(selected.id, { signal: leaving.signal }).then(
      (approval) => (approval.state === 'waiting' ? undefined : end(approval, true)),
      () => (leaving.signal.aborted ? undefined : select(undefined)),
    );
    return () => leaving.abort();
  }, [isGone, selected, end, select]);

  useKeys({ waiting, selected, select, end });
  if (pages.isLoading) return <Loading />;
  const cards = [
    ...waiting.map((approval) => ({ approval, ended: undefined })),
    ...ended.map((each) => ({ approval: each.approval, ended: each })),
  ].toSorted((one, other) => compare(one.approval, other.approval));
  return (
    <div className={styles.list}>
      {pages.error !== null && <Failure error={pages.error} onRetry={pages.reload} />}
      {waiting.length === 0 && pages.error === null && !pages.hasMore && (
        <Notice heading={texts.empty} text={texts.emptyHint}>
          <Command text={exampleRule} />
        </Notice>
      )}
      {cards.map((card) =>
        card.ended === undefined ? (
          <ApprovalCard
            key={card.approval.id}
            approval={card.approval}
            isSelected={selected?.id === card.approval.id}
            mode={selected?.id === card.approval.id ? mode : 'choose'}
            onMode={(next) => select(card.approval, next)}
            onDecided={end}
          />
        ) : (
          <EndedCard
            key={card.approval.id}
            approval={card.approval}
            byOthers={card.ended.byOthers}
            onDismiss={() => setEnded(ended.filter(({ approval }) => approval !== card.approval))}
          />
        ),
      )}
      {pages.hasMore && (
        <p>
          {texts.newer}
          <Button className={buttons.button} isDisabled={pages.isLoadingMore} onPress={pages.loadMore}>
            {more}
          </Button>
        </p>
      )}
    </div>
  );
}

interface KeysProps {
  waiting: readonly Approval[];
  selected: Approval | undefined;
  select: (approval: Approval | undefined, mode?: DecisionMode) => void;
  end: (approval: Approval, byOthers: boolean) => void;
}

function useKeys({ waiting, selected, select, end }: KeysProps): void {
  const texts = useStrings(approvalsStrings);
  const deciding = useDecision({ approval: selected ?? { id: '', kind: 'approval', arguments: {} }, onDecided: end });
  const addressOf = useSignInAddress();
  const at = waiting.findIndex(({ id }) => id === selected?.id);
  useShortcut({ key: 'j', label: texts.keyNext }, () => {
    // Without a selection, the first.
    if (waiting.length > 0) select(waiting[Math.min(at + 1, waiting.length - 1)]);
  });
  useShortcut({ key: 'k', label: texts.keyBefore }, () => {
    if (waiting.length > 0) select(waiting[Math.max(at - 1, 0)]);
  });
  useShortcut({ key: 'a', label: texts.keyApprove }, () => {
    if (at === -1 || deciding.isPending) return;
    const { kind } = waiting[at]!;
    const address = addressOf(waiting[at]!);
    if (kind === 'question') select(waiting[at], 'edit');
    else if (address !== undefined) window.open(address, '_blank', 'noopener');
    else if (kind === 'approval') deciding.mutate({ decision: 'approve' }, { onError: notifyFailure });
  });
  useShortcut({ key: 'd', label: texts.keyDeny }, () => {
    if (at !== -1) select(waiting[at], 'deny');
  });
  useShortcut({ key: 'e', label: texts.keyEdit }, () => {
    if (at !== -1 && waiting[at]!.kind !== 'sign_in') select(waiting[at], 'edit');
  });
}

const compare = (one: Approval, other: Approval): number =>
  one.created_at < other.created_at || (one.created_at === other.created_at && one.id < other.id) ? -1 : 1;
