// Names and values.
import type { ReactNode } from 'react';
import styles from './facts.module.css';

export interface FactsProps {
  /**
   * `rows`: below each other, the names in one column. `line`: one after the other where there is room. `blocks`: the same, each
   * name above its value.
   */
  layout?: 'rows' | 'line' | 'blocks';
  children: ReactNode;
}

export const Facts = ({ layout = 'rows', children }: FactsProps) => (
  <dl className={`${styles.facts} ${styles[layout]}`}>{children}</dl>
);

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd dir="auto">{children}</dd>
  </div>
);
