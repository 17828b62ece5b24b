// What a tool server asks while its call runs: a form by the schema of the answer.
import type { RequiredApproval } from '@signalbox/client';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { problemsOf } from '../../../widgets/forms/check-value.js';
import { firstValue, type Json, type JsonObject, type Schema } from '../../../widgets/forms/form-schema.js';
import { SchemaForm } from '../../../widgets/forms/schema-form.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { widgetStrings } from '../../../widgets/strings.js';
import { chatStrings } from '../strings.js';
import { useDecision } from './use-decision.js';
import styles from './call.module.css';

export function QuestionForm({ asked }: { asked: RequiredApproval }) {
  const texts = useStrings(chatStrings);
  const problemTexts = useStrings(widgetStrings);
  const schema = (asked.schema ?? { type: 'object' }) as Schema;
  const { decide, isSent, isSending } = useDecision(asked.id);
  const [value, setValue] = useState<Json | undefined>(() => firstValue(schema, schema) ?? {});
  const [isTried, setTried] = useState(false);
  if (isSent) return <p className={styles.sent}>{texts.decided}</p>;
  const problems = problemsOf(schema, value, problemTexts);
  const answer = () => {
    setTried(true);
    if (problems.size === 0) decide({ decision: 'approve', arguments: (value ?? {}) as JsonObject });
  };
  return (
    <div className={styles.asked}>
      <h3>{texts.question}</h3>
      <LongText text={asked.message ?? ''} />
      <SchemaForm schema={schema} value={value} onChange={setValue} problems={isTried ? problems : undefined} />
      <div className={styles.acts}>
        <Button
          className={`${buttons.button} ${buttons.primary} ${styles.act}`}
          isDisabled={isSending}
          onPress={answer}
        >
          {texts.answer}
        </Button>
        <Button
          className={`${buttons.button} ${styles.act}`}
          isDisabled={isSending}
          onPress={() => decide({ decision: 'deny' })}
        >
          {texts.decline}
        </Button>
      </div>
    </div>
  );
}
