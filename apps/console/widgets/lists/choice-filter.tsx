// A filter with few values.
import styles from './filters.module.css';

export interface ChoiceFilterProps {
  label: string;
  /** What is shown while nothing is chosen. */
  all: string;
  value: string | undefined;
  options: readonly { value: string; title: string }[];
  onChange: (value: string | undefined) => void;
}

export function ChoiceFilter({ label, all, value = '', options, onChange }: ChoiceFilterProps) {
  return (
    <select
      aria-label={label}
      className={value === '' ? styles.choice : `${styles.choice} ${styles.given}`}
      value={value}
      onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
    >
      <option value="">{all}</option>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.title}
        </option>
      ))}
    </select>
  );
}
