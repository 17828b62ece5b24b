// Takes files that are dropped or chosen, says how much room there is, and shows what became of each.
import type { FileEntry, Session } from '@signalbox/client';
import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { describeFailure } from '../../../api/failure.js';
import { useExternal } from '../../../api/external-value.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { sessionsStrings } from '../strings.js';
import { type Upload, UploadQueue } from './upload-queue.js';
import styles from '../sessions.module.css';

export interface UploadsProps {
  session: Session;
  files: readonly FileEntry[];
  /** Where uploads go; '' is the top. */
  folder: string;
  /** What files can be dropped on. */
  children: ReactNode;
}

export function Uploads({ session, files, folder, children }: UploadsProps) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const queries = useQueryClient();
  const picker = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const [queue] = useState(
    () => new UploadQueue(session.id, () => void queries.invalidateQueries({ queryKey: ['sessions'] })),
  );
  useEffect(() => () => queue.close(), [queue]);
  const uploads = useExternal(queue.uploads);
  const room = {
    bytes: Math.max(0, session.limits.bytes - session.usage.bytes),
    files: Math.max(0, session.limits.files - session.usage.files),
  };
  const tooLarge = (bytes: number) =>
    bytes > room.bytes ? texts.uploadTooLarge(formats.bytes(room.bytes)) : undefined;
  const take = (given: FileList | null) => queue.add([...(given ?? [])], { folder, known: files, tooLarge });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    <div
      className={isOver ? `${styles.drop} ${styles.over}` : styles.drop}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={drop}
    >
      <div className={styles.take}>
        <Button className={`${buttons.button} ${buttons.primary}`} onPress={() => picker.current?.click()}>
          {texts.upload}
        </Button>
        <input
          ref={picker}
          type="file"
          multiple
          className={styles.picker}
          aria-label={texts.upload}
          tabIndex={-1}
          onChange={({ target }) => {
            take(target.files);
            target.value = '';
          }}
        />
        <span className={styles.soft}>
          {isOver ? texts.dropHere : texts.into(folder === '' ? texts.root : visibleText(folder))}{' '}
          {texts.room(formats.bytes(room.bytes), formats.number(room.files))}
        </span>
      </div>
      {uploads.length > 0 && (
        <section aria-label={texts.uploads} className={styles.uploads}>
          <ul>
            {uploads.map((upload) => (
              <UploadRow
                key={upload.id}
                upload={upload}
                queue={queue}
                known={files.find(({ path }) => path === upload.path)}
              />
            ))}
          </ul>
          <Button className={`${buttons.button} ${buttons.quiet}`} onPress={() => queue.clear()}>
            {texts.clear}
          </Button>
        </section>
      )}
      {children}
    </div>
  );
}

interface UploadRowProps {
  upload: Upload;
  queue: UploadQueue;
  known: FileEntry | undefined;
}

function UploadRow({ upload, queue, known }: UploadRowProps) {
  const texts = useStrings(sessionsStrings);
  const { id, path, file, state, sent } = upload;
  const name = visibleText(path);
  const isUnderWay = state === 'waiting' || state === 'sending';
  return (
    <li className={styles.upload} aria-label={name}>
      <bdi className={styles.cut}>{name}</bdi>
      <UploadState upload={upload} known={known} />
      {state === 'exists' && known?.type !== 'directory' && (
        <Button className={buttons.button} onPress={() => queue.overwrite(id, known?.etag)}>
          {texts.overwrite}
        </Button>
      )}
      {(isUnderWay || state === 'exists') && (
        <Button className={buttons.button} onPress={() => queue.cancel(id)}>
          {isUnderWay ? texts.cancel : texts.skip}
        </Button>
      )}
      {isUnderWay && (
        <progress aria-label={name} max={Math.max(1, file.size)} value={sent} className={styles.progress} />
      )}
    </li>
  );
}

function UploadState({
  upload: { state, sent, file, error },
  known,
}: {
  upload: Upload;
  known: FileEntry | undefined;
}) {
  const texts = useStrings(sessionsStrings);
  const { language } = useLanguage();
  const formats = useFormats();
  switch (state) {
    case 'waiting':
      return <span className={styles.soft}>{texts.waiting}</span>;
    case 'sending':
      return <span className={styles.soft}>{formats.percent(file.size === 0 ? 1 : sent / file.size)}</span>;
    case 'exists':
      return <span className={styles.warn}>{known?.type === 'directory' ? texts.isDirectory : texts.exists}</span>;
    case 'done':
      return (
        <span className={styles.good} role="status">
          {texts.uploadDone}
        </span>
      );
    case 'cancelled':
      return <span className={styles.soft}>{texts.uploadCancelled}</span>;
    case 'failed':
      return (
        <span className={styles.bad} role="alert">
          {describeFailure(error, language).sentence}
        </span>
      );
  }
}
