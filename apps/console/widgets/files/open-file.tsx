// Opens a file that a person has: by a picker, or dropped on the view.
import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import buttons from '../button.module.css';
import styles from './open-file.module.css';

export interface OpenFileProps {
  title: string;
  open: (file: File) => void;
}

export function OpenFileButton({ title, open, accept }: OpenFileProps & { accept: string }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        accept={accept}
        hidden
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file !== undefined) open(file);
          // The same file can be chosen again.
          target.value = '';
        }}
      />
      <Button className={buttons.button} onPress={() => field.current?.click()}>
        {title}
      </Button>
    </>
  );
}

/** The part of the page that takes a dropped file. `title` is shown while a file is held over it. */
export function DropArea({ title, open, children }: OpenFileProps & { children: ReactNode }) {
  const [isOver, setOver] = useState(false);
  const hasFile = (event: DragEvent) => event.dataTransfer.types.includes('Files');
  return (
    <div
      className={styles.area}
      onDragOver={(event) => {
        if (!hasFile(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node) || !currentTarget.contains(relatedTarget)) setOver(false);
      }}
      onDrop={(event) => {
        if (!hasFile(event)) return;
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer.files;
        if (file !== undefined) open(file);
      }}
    >
      {children}
      {isOver && <div className={styles.over}>{title}</div>}
    </div>
  );
}
