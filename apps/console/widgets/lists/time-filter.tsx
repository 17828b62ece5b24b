// A filter by time. The address has the time of the world, the field that of the person.
import styles from './filters.module.css';

export interface TimeFilterProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

export function TimeFilter({ label, value, onChange }: TimeFilterProps) {
  return (
    <label className={styles.time}>
      <span>{label}</span>
      <input
        type="datetime-local"
        className={value === undefined ? styles.choice : `${styles.choice} ${styles.given}`}
        value={localTime(value)}
        onChange={({ target }) => {
          const time = new Date(target.value);
          onChange(Number.isNaN(time.getTime()) ? undefined : time.toISOString());
        }}
      />
    </label>
  );
}

function localTime(value: string | undefined): string {
  const time = value === undefined ? undefined : new Date(value);
  if (time === undefined || Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
