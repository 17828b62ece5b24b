// A file: what it is, its preview, and what can be done with it.
import type { FileEntry } from '@signalbox/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { ConfirmDialog } from '../../../widgets/dialog.js';
import { notify, notifyFailure } from '../../../widgets/notices.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { sessionsStrings } from '../strings.js';
import { FilePreview } from './file-preview.js';
import { nameOf } from './file-rows.js';
import { saveAnswer } from './save-answer.js';
import styles from '../sessions.module.css';

export function FileDetail({ sessionId, entry, onGone }: { sessionId: string; entry: FileEntry; onGone: () => void }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const { path, type } = entry;
  const name = visibleText(nameOf(path));
  const isDirectory = type === 'directory';
  const downloading = useMutation({
    mutationFn: async () => saveAnswer(await api.files.download({ sessionId, path }), nameOf(path)),
    onError: notifyFailure,
  });
  const deleting = useMutation({
    mutationFn: () => api.files.delete({ sessionId, path }, isDirectory ? { recursive: true } : {}),
    onSuccess: () => {
      notify(texts.deleted(name));
      onGone();
    },
    onError: notifyFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <div className={styles.detail}>
      <p className={styles.soft}>
        {isDirectory ? texts.directory : type === 'file' ? formats.bytes(entry.size) : texts.other}
        {' · '}
        <TimeAgo time={entry.modified_at} />
      </p>
      <div className={styles.actions}>
        {type === 'file' && (
          <Button className={buttons.button} isDisabled={downloading.isPending} onPress={() => downloading.mutate()}>
            {downloading.isPending ? texts.downloading : texts.download}
          </Button>
        )}
        <Button
          className={`${buttons.button} ${buttons.danger}`}
          isDisabled={deleting.isPending}
          onPress={() => setAsks(true)}
        >
          {texts.delete}
        </Button>
      </div>
      {type === 'file' && <FilePreview sessionId={sessionId} entry={entry} />}
      <ConfirmDialog
        heading={texts.deleteAsk(name)}
        text={isDirectory ? texts.deleteDirectoryText : texts.deleteFileText}
        action={texts.delete}
        isOpen={asks}
        onConfirm={() => deleting.mutate()}
        onClose={() => setAsks(false)}
      />
    </div>
  );
}
