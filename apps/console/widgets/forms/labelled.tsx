// The label of a field, what is said about it, and what is wrong with it.
import { type ReactNode, useId } from 'react';
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import type { Json } from './form-schema.js';
import styles from './schema-form.module.css';

export interface FieldFrame {
  label: string;
  about: string | undefined;
  isRequired: boolean;
  problem: string | undefined;
}

export interface PlainFieldProps {
  frame: FieldFrame;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  isDisabled: boolean;
}

export interface FieldAttributes {
  id: string;
  'aria-describedby': string;
  'aria-invalid': boolean;
  'aria-required': boolean;
}

export interface LabelledProps {
  label: string;
  about?: string | undefined;
  isRequired?: boolean;
  problem?: string | undefined;
  children: (attributes: FieldAttributes) => ReactNode;
}

export function Labelled({ label, about, isRequired = false, problem, children }: LabelledProps) {
  const texts = useStrings(widgetStrings);
  const id = useId();
  const told = useId();
  const wrong = problem !== undefined && problem !== '';
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
        {isRequired && <span className={styles.required}> {texts.required}</span>}
      </label>
      {children({ id, 'aria-describedby': told, 'aria-invalid': wrong, 'aria-required': isRequired })}
      <div id={told}>
        {about !== undefined && <p className={styles.about}>{about}</p>}
        {wrong && <p className={styles.problem}>{problem}</p>}
      </div>
    </div>
  );
}
