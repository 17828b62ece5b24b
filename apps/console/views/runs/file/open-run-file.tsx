// Opens the file of a run: by a picker, or dropped on the view.
import { useNavigate } from '@tanstack/react-router';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { runsStrings } from '../strings.js';
import { type Fault, keepRun, mostBytes, readRunFile } from './run-file.js';
import styles from './open-run-file.module.css';

export interface FileOpening {
  fault: Fault | undefined;
  open: (file: File | undefined) => void;
}

/** Without `onRun` the run is shown. */
export function useRunFile(onRun?: (id: string) => void): FileOpening {
  const navigate = useNavigate();
  const [fault, setFault] = useState<Fault>();
  async function openFile(file: File) {
    const read = await readRunFile(file);
    setFault('fault' in read ? read.fault : undefined);
    if ('fault' in read) return;
    const { run } = read;
    keepRun(run);
    if (onRun !== undefined) onRun(run.id);
    else await navigate({ to: '/runs/$id', params: { id: run.id }, search: { source: 'file' } });
  }
  return { fault, open: (file) => void (file === undefined ? undefined : openFile(file)) };
}

export function OpenFileButton({ open }: Pick<FileOpening, 'open'>) {
  const texts = useStrings(runsStrings);
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        accept="application/json,.json"
        hidden
        onChange={({ target }) => {
          open(target.files?.[0]);
          // The same file can be chosen again.
          target.value = '';
        }}
      />
      <Button className={buttons.button} onPress={() => field.current?.click()}>
        {texts.openFile}
      </Button>
    </>
  );
}

export function FileFault({ fault }: { fault: Fault }) {
  const texts = useStrings(runsStrings);
  const formats = useFormats();
  const words = {
    size: () => texts.fileTooLarge(formats.bytes(mostBytes)),
    json: () => texts.fileNotJson,
    run: () => texts.fileNotRun,
    newer: () => texts.fileNewer,
    part: () => texts.fileOther('place' in fault ? visibleText(fault.place) : ''),
  };
  return (
    <p role="alert" className={styles.fault}>
      {words[fault.kind]()}
    </p>
  );
}

/** The part of the page that takes a dropped file. */
export function DropArea({ open, children }: Pick<FileOpening, 'open'> & { children: ReactNode }) {
  const texts = useStrings(runsStrings);
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
        open(event.dataTransfer.files[0]);
      }}
    >
      {children}
      {isOver && <div className={styles.over}>{texts.dropHere}</div>}
    </div>
  );
}
