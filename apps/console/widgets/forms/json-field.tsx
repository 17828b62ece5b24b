// A value that is written as JSON. While the text is no JSON, the value stays what it was and the field says so.
import { useState } from 'react';
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import { isSame } from './check-value.js';
import { Labelled } from './labelled.js';
import type { Json } from './form-schema.js';
import styles from './schema-form.module.css';

export interface JsonFieldProps {
  label: string;
  about?: string | undefined;
  isRequired?: boolean;
  problem?: string | undefined;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  isDisabled?: boolean;
}

const mostRows = 20;

export function JsonField(props: JsonFieldProps) {
  const { label, about, isRequired = false, problem, value, onChange, isDisabled = false } = props;
  const texts = useStrings(widgetStrings);
  const [text, setText] = useState(() => write(value));
  const [own, setOwn] = useState(value);
  if (!isSame(own, value)) {
    setOwn(value);
    setText(write(value));
  }
  const read = parse(text);
  const set = (typed: string) => {
    setText(typed);
    const next = parse(typed);
    if (next === 'broken') return;
    setOwn(next.value);
    onChange(next.value);
  };
  return (
    <Labelled
      label={label}
      about={about}
      isRequired={isRequired}
      problem={read === 'broken' ? texts.isNoJson : problem}
    >
      {(field) => (
        <textarea
          {...field}
          className={`${styles.input} ${styles.json}`}
          rows={Math.max(4, Math.min(mostRows, text.split('\n').length))}
          spellCheck={false}
          disabled={isDisabled}
          value={text}
          onChange={({ target }) => set(target.value)}
        />
      )}
    </Labelled>
  );
}

const write = (value: Json | undefined): string => (value === undefined ? '' : JSON.stringify(value, null, 2));

function parse(text: string): { value: Json | undefined } | 'broken' {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return 'broken';
  }
}
