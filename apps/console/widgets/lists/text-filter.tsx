// A filter that is typed. The list is asked again when the typing pauses.
import { useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Input } from 'react-aria-components/Input';
import { SearchField } from 'react-aria-components/SearchField';
import { Icon } from '../../frame/icon.js';
import styles from './filters.module.css';

const pauseMs = 300;

export interface TextFilterProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

export function TextFilter({ label, value = '', onChange }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  // Somebody else changed the address: a link, or the browser's way back.
  if (value !== sent.current) {
    sent.current = value;
    setTyped(value);
  }
  const report = useRef(onChange);
  useEffect(() => {
    report.current = onChange;
  });
  useEffect(() => {
    if (typed === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = typed;
      report.current(typed === '' ? undefined : typed);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <SearchField aria-label={label} value={typed} onChange={setTyped} className={styles.text}>
      <Icon name="search" />
      <Input placeholder={label} data-filter="" />
      <Button className={styles.clear}>
        <Icon name="close" size={12} />
      </Button>
    </SearchField>
  );
}
