// A list, and beside it what was chosen from it. In a narrow window that covers the list.
import type { ReactNode } from 'react';
import { SidePanel } from '../side-panel.js';
import styles from './list-detail.module.css';

export interface ListDetailProps {
  children: ReactNode;
  /** Absent: nothing is chosen. */
  detail?: { heading: string; content: ReactNode } | undefined;
  onClose: () => void;
}

export function ListDetail({ children, detail, onClose }: ListDetailProps) {
  return (
    <div className={detail === undefined ? styles.alone : styles.both}>
      <div className={styles.list}>{children}</div>
      {detail !== undefined && (
        <SidePanel heading={detail.heading} onClose={onClose}>
          {detail.content}
        </SidePanel>
      )}
    </div>
  );
}
