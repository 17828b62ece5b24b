// The frame of a view: one `main`, with a heading that has the view's name.
import type { ReactNode } from 'react';
import styles from './page.module.css';

export interface PageProps {
  title: string;
  /** Beside the heading. */
  actions?: ReactNode;
  /** A sentence below the heading. */
  about?: ReactNode;
  /** The view fills the window and scrolls within itself. */
  isWhole?: boolean;
  children: ReactNode;
}

export function Page({ title, actions, about, isWhole = false, children }: PageProps) {
  return (
    <main className={isWhole ? `${styles.page} ${styles.whole}` : styles.page} id="main" tabIndex={-1}>
      <header className={styles.header}>
        <h1>{title}</h1>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {about !== undefined && <p className={styles.about}>{about}</p>}
      {children}
    </main>
  );
}
