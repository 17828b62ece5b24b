// The place of a conversation: files that are dropped on it go into its session.
import { type DragEvent, type ReactNode, useState } from 'react';
import { useMay } from '../../../api/me.js';
import { useStrings } from '../../../i18n/language.js';
import { chatStrings } from '../strings.js';
import styles from './files.module.css';

export function DropPlace({ onFiles, children }: { onFiles: (files: File[]) => void; children: ReactNode }) {
  const texts = useStrings(chatStrings);
  const may = useMay('files') ?? false;
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    if (!may || !event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    setOver(true);
  };
  return (
    <section
      className={styles.place}
      onDragOver={over}
      onDragLeave={(event) => event.currentTarget.contains(event.relatedTarget as Node | null) || setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (!may || event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        onFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
      {isOver && <div className={styles.over}>{texts.dropHere}</div>}
    </section>
  );
}
