// A form for a value that a JSON schema describes: the arguments of a tool, the answer of a client's tool or to a question. The
// same value can be written as JSON. The owner keeps the value, and shows problems once it was tried to send.
import { useState } from 'react';
import { isSecretName } from '#libs/audit/secret-names.js';
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import type { Problems } from './check-value.js';
import { JsonField } from './json-field.js';
import { type Json, kindOf, resolved, type Schema } from './form-schema.js';
import { Field, type FormContext } from './schema-field.js';
import styles from './schema-form.module.css';

export interface SchemaFormProps {
  schema: Schema;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  /** Shown beside the fields: `problemsOf(schema, value, texts)`, once it was tried to send. */
  problems?: Problems | undefined;
  isDisabled?: boolean;
}

export function SchemaForm({ schema, value, onChange, problems = new Map(), isDisabled = false }: SchemaFormProps) {
  const texts = useStrings(widgetStrings);
  const [asJson, setAsJson] = useState(false);
  const root = resolved(schema, schema);
  const hasForm = kindOf(root, false, 0).kind !== 'json';
  const context: FormContext = { root: schema, problems, isDisabled };
  return (
    <div className={styles.form}>
      {hasForm && (
        <div className={styles.switch} role="group" aria-label={texts.form}>
          <button type="button" aria-pressed={!asJson} onClick={() => setAsJson(false)}>
            {texts.form}
          </button>
          <button type="button" aria-pressed={asJson} onClick={() => setAsJson(true)}>
            JSON
          </button>
        </div>
      )}
      {asJson || !hasForm ? (
        <JsonField
          label={root.title ?? 'JSON'}
          value={value}
          onChange={onChange}
          problem={[...problems].map(([path, text]) => (path === '' ? text : `${path}: ${text}`)).join('\n')}
          isDisabled={isDisabled}
        />
      ) : (
        <Field
          context={context}
          place={{ path: '', name: '', depth: 0, isRequired: true, isSecret: isSecretName(root.title ?? '') }}
          schema={schema}
          value={value}
          onChange={onChange}
        />
      )}
    </div>
  );
}
