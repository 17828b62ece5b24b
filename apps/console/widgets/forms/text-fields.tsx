// Fields that are typed: texts and numbers. One that is emptied is left out of the value.
import { useState } from 'react';
import { Labelled, type PlainFieldProps } from './labelled.js';
import type { Json, Schema } from './form-schema.js';
import styles from './schema-form.module.css';

const longText = 200;
const inputTypes: Readonly<Record<string, string>> = {
  date: 'date',
  email: 'email',
  uri: 'url',
  url: 'url',
};

export function TextField(props: PlainFieldProps & { schema: Schema; isSecret: boolean }) {
  const { frame, value, onChange, isDisabled, schema, isSecret } = props;
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  // What must be there may be an empty text; what may be missing is missing when it is empty.
  const set = (typed: string) =>
    onChange(typed === '' && !(frame.isRequired && (schema.minLength ?? 0) === 0) ? undefined : typed);
  const isShort = isSecret || schema.format !== undefined || (schema.maxLength ?? Infinity) <= longText;
  return (
    <Labelled {...frame}>
      {(field) =>
        isShort ? (
          <input
            {...field}
            className={styles.input}
            type={isSecret ? 'password' : (inputTypes[schema.format ?? ''] ?? 'text')}
            autoComplete="off"
            disabled={isDisabled}
            value={text}
            onChange={({ target }) => set(target.value)}
          />
        ) : (
          <textarea
            {...field}
            className={styles.input}
            rows={Math.min(12, text.split('\n', 12).length)}
            disabled={isDisabled}
            value={text}
            onChange={({ target }) => set(target.value)}
          />
        )
      }
    </Labelled>
  );
}

export function NumberField({ frame, value, onChange, isDisabled }: PlainFieldProps) {
  const [typed, setTyped] = useState(() => shown(value));
  const [own, setOwn] = useState(value);
  // The value was changed elsewhere: as JSON, or by its default.
  if (!Object.is(own, value)) {
    setOwn(value);
    setTyped(shown(value));
  }
  const set = (text: string) => {
    setTyped(text);
    const trimmed = text.trim();
    // What is no number stays in the value as it was typed, and is said to be none.
    const next = trimmed === '' ? undefined : Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
    setOwn(next);
    onChange(next);
  };
  return (
    <Labelled {...frame}>
      {(field) => (
        <input
          {...field}
          className={styles.input}
          inputMode="decimal"
          autoComplete="off"
          disabled={isDisabled}
          value={typed}
          onChange={({ target }) => set(target.value)}
        />
      )}
    </Labelled>
  );
}

const shown = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
