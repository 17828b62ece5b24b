// How an approval ended, in words.
import type { Approval } from '@signalbox/client';
import { useMe } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

export const endedStates = ['approved', 'denied', 'expired', 'cancelled'] as const;

export function Outcome({ approval, byOthers: isByOthers = false }: { approval: Approval; byOthers?: boolean }) {
  const texts = useStrings(approvalsStrings);
  const { decided_by: decidedBy, decision_reason: reason, decided_at: decidedAt, edited } = approval;
  // Nobody can be faster than others at a sign-in.
  const byOthers = isByOthers && !(approval.kind === 'sign_in' && approval.state === 'approved');
  const mine = useMe()?.principal === decidedBy && !byOthers;
  const who = mine ? texts.yourself : visibleText(decidedBy ?? texts.nobody);
  return (
    <div className={styles.outcome}>
      <p>
        {byOthers && decidedBy !== null && <strong>{texts.faster(who)} </strong>}
        {sentence(approval, who, texts)}
        {edited && <>, {texts.edited}</>}
        {decidedAt !== null && (
          <>
            {' · '}
            <TimeAgo time={decidedAt} />
          </>
        )}
      </p>
      {reason !== null && reason !== '' && <blockquote className={styles.reason}>{visibleText(reason)}</blockquote>}
    </div>
  );
}

function sentence({ state, kind }: Approval, who: string, texts: (typeof approvalsStrings)['en']): string {
  switch (state) {
    case 'approved':
      return { approval: texts.approvedBy, question: texts.answeredBy, sign_in: texts.signedInBy }[kind](who);
    case 'denied':
      return kind === 'question' ? texts.declinedBy(who) : texts.deniedBy(who);
    case 'expired':
      return kind === 'sign_in' ? texts.signInExpired : texts.expired;
    case 'cancelled':
      return kind === 'sign_in' ? texts.signInCancelled : texts.cancelled;
    case 'waiting':
      return texts.waiting;
  }
}
