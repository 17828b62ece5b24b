// Opens the file of a run, and says what is wrong with it.
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { runsStrings } from '../strings.js';
import { type Fault, keepRun, mostBytes, readRunFile } from './run-file.js';
import styles from './open-run-file.module.css';

export interface FileOpening {
  fault: Fault | undefined;
  open: (file: File) => void;
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
  return { fault, open: (file) => void openFile(file) };
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
