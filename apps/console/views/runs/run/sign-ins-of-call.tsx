// The sign-ins at its tool server that a call waited for: whose, how long, and how each ended.
import type { ShownCall } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useStrings } from '../../../i18n/language.js';
import { StateBadge } from '../../../widgets/shown/badge.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { stateOfWait } from '../../../widgets/shown/state-words.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { runStrings } from './run-strings.js';
import styles from './run.module.css';

export function SignInsOfCall({ call, caller }: { call: ShownCall; caller: string }) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  return (call.sign_ins ?? []).map((signIn) => {
    const { id, state, created_at: since, decided_at: until, decided_by: by, decision_reason: reason } = signIn;
    const time = (text: string) => formats.time(new Date(text));
    return (
      <section key={id} aria-label={texts.signInAt(visibleText(call.server))} className={styles.details}>
        <h3>{texts.signInAt(visibleText(call.server))}</h3>
        <p>
          <StateBadge state={stateOfWait({ kind: 'sign_in', state })} />
        </p>
        <Facts>
          <Fact name={texts.signsIn}>{visibleText(caller)}</Fact>
          <Fact name={texts.asked}>{time(since)}</Fact>
          {until === null ? (
            <Fact name={texts.expires}>{time(signIn.expires_at)}</Fact>
          ) : (
            <Fact name={texts.personWait}>{formats.duration(Date.parse(until) - Date.parse(since))}</Fact>
          )}
          {state === 'denied' && by !== null && <Fact name={texts.decidedBy}>{visibleText(by)}</Fact>}
          {reason !== null && <Fact name={texts.decisionReason}>{visibleText(reason)}</Fact>}
        </Facts>
        <p>
          <Link to="/approvals/{-$id}" params={{ id }}>
            {texts.openSignIn}
          </Link>
        </p>
      </section>
    );
  });
}
