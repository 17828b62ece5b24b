// A call that waits for a person: what it would do and why it is asked for, where to sign in, or what its tool server asks; and the
// decision.
import type { RequiredApproval } from '@signalbox/client';
import { useState } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { DecideCall, type DecisionMode } from '../../../widgets/decisions/decide-call.js';
import { TimeLeft } from '../../../widgets/decisions/time-left.js';
import type { Schema } from '../../../widgets/forms/form-schema.js';
import { SchemaValues } from '../../../widgets/forms/schema-values.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { useNow } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import type { AskedSignIn } from '../conversation/answer.js';
import { chatStrings } from '../strings.js';
import styles from './call.module.css';

export function WaitingCall({ asked, schema = {} }: { asked: RequiredApproval | AskedSignIn; schema?: Schema }) {
  const texts = useStrings(chatStrings);
  const [mode, setMode] = useState<DecisionMode>('choose');
  const [isDecided, setDecided] = useState(false);
  if (isDecided) return <p className={styles.sent}>{texts.decided}</p>;
  return (
    <div className={styles.asked}>
      {asked.kind === 'sign_in' && (
        <>
          <h3>{texts.signInAt(visibleText(asked.server))}</h3>
          <p>{texts.signInAbout}</p>
          <TimeLeft until={asked.expires_at} />
        </>
      )}
      {asked.kind === 'question' && (
        <>
          <h3>{texts.question}</h3>
          <LongText text={asked.message ?? ''} />
        </>
      )}
      {asked.kind === 'approval' && (
        <>
          <Why asked={asked} />
          {mode !== 'edit' && <SchemaValues schema={schema} value={asked.arguments} />}
        </>
      )}
      <DecideCall
        approval={asked}
        argumentsSchema={schema}
        mode={mode}
        onMode={setMode}
        onDecided={() => setDecided(true)}
      />
    </div>
  );
}

function Why({ asked: { rule, reason, expires_at: expires } }: { asked: RequiredApproval }) {
  const texts = useStrings(chatStrings);
  const formats = useFormats();
  const now = useNow();
  const isOwn = rule === 'request';
  return (
    <p className={styles.why}>
      <span>{isOwn ? texts.chosenToAsk : visibleText(reason ?? '')}</span>
      <span className={styles.facts}>
        {rule !== undefined && !isOwn && `${texts.why(visibleText(rule))} · `}
        {texts.expires(formats.ago(new Date(expires), now))}
      </span>
    </p>
  );
}
