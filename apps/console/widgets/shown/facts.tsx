// Names and values: below each other, or one after the other where there is room.
import type { ReactNode } from 'react';
import styles from './facts.module.css';

export const Facts = ({ isInline = false, children }: { isInline?: boolean; children: ReactNode }) => (
  <dl className={isInline ? styles.inline : styles.facts}>{children}</dl>
);

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd dir="auto">{children}</dd>
  </div>
);
