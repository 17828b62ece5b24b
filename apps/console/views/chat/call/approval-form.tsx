// A call that waits for an approval: what it would do, why it is asked for, and the decision.
import type { RequiredApproval } from '@signalbox/client';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { problemsOf } from '../../../widgets/forms/check-value.js';
import type { Json, JsonObject, Schema } from '../../../widgets/forms/form-schema.js';
import { SchemaForm } from '../../../widgets/forms/schema-form.js';
import { SchemaValues } from '../../../widgets/forms/schema-values.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { useNow } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { widgetStrings } from '../../../widgets/strings.js';
import { chatStrings } from '../strings.js';
import { useDecision } from './use-decision.js';
import styles from './call.module.css';

export function ApprovalForm({ asked, schema = {} }: { asked: RequiredApproval; schema?: Schema }) {
  const texts = useStrings(chatStrings);
  const problemTexts = useStrings(widgetStrings);
  const { decide, isSent, isSending } = useDecision(asked.id);
  const [edited, setEdited] = useState<Json>();
  const [reason, setReason] = useState('');
  const [isTried, setTried] = useState(false);
  if (isSent) return <p className={styles.sent}>{texts.decided}</p>;
  const problems = edited === undefined ? new Map<string, string>() : problemsOf(schema, edited, problemTexts);
  const said = reason.trim() === '' ? {} : { reason: reason.trim() };
  const approveEdited = () => {
    setTried(true);
    if (problems.size === 0) decide({ decision: 'approve', arguments: edited as JsonObject, ...said });
  };
  const act = (className: string | undefined, text: string, onPress: () => void) => (
    <Button className={`${buttons.button} ${className} ${styles.act}`} isDisabled={isSending} onPress={onPress}>
      {text}
    </Button>
  );
  return (
    <div className={styles.asked}>
      <Why asked={asked} />
      {edited === undefined ? (
        <SchemaValues schema={schema} value={asked.arguments} />
      ) : (
        <SchemaForm schema={schema} value={edited} onChange={setEdited} problems={isTried ? problems : undefined} />
      )}
      <input
        className={styles.reason}
        aria-label={texts.reason}
        placeholder={texts.reason}
        value={reason}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
      />
      <div className={styles.acts}>
        {edited === undefined ? (
          <>
            {act(buttons.primary, texts.approve, () => decide({ decision: 'approve', ...said }))}
            {act(buttons.danger, texts.deny, () => decide({ decision: 'deny', ...said }))}
            {act('', texts.editArguments, () => setEdited(asked.arguments))}
          </>
        ) : (
          <>
            {act(buttons.primary, texts.approveEdited, approveEdited)}
            {act('', texts.discard, () => setEdited(undefined))}
          </>
        )}
      </div>
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
