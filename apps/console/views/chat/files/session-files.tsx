// The files of the session, as its tools see them.
import { SignalboxError } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { Icon } from '../../../frame/icon.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { notifyFailure } from '../../../widgets/notices.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure, Loading } from '../../../widgets/states.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import { saveFile } from '../../../widgets/save-file.js';
import styles from './files.module.css';

export function SessionFiles({ chat }: { chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const formats = useFormats();
  const conversation = useConversation(chat);
  const { id } = conversation;
  const ended = Object.values(conversation.nodes).reduce(
    (sum, node) =>
      node.kind === 'turn' ? sum + node.answer.parts.filter((part) => part.type === 'call' && part.result).length : sum,
    0,
  );
  const { data, error, refetch } = useQuery({
    // A call may have changed files.
    queryKey: ['files', id, ended],
    queryFn: async ({ signal }) => {
      try {
        return await api.files.list(id, { signal });
      } catch (failure) {
        // A session is made by its first file or call.
        if (failure instanceof SignalboxError && failure.code === 'session_not_found') return noFiles;
        throw failure;
      }
    },
    placeholderData: (before) => before,
  });
  async function download(path: string) {
    try {
      const file = await api.files.download({ sessionId: id, path });
      saveFile(path.split('/').at(-1) ?? path, await file.blob());
    } catch (failure) {
      notifyFailure(failure);
    }
  }
  if (data === undefined)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
  const files = data.files.filter(({ type }) => type !== 'directory');
  return (
    <div className={styles.files}>
      {files.length === 0 && <p className={styles.soft}>{texts.noFiles}</p>}
      <ul>
        {files.map(({ path, size }) => (
          <li key={path} className={styles.file}>
            <span className={styles.path} title={visibleText(path)}>
              {visibleText(path)}
            </span>
            <span className={styles.soft}>{formats.bytes(size)}</span>
            <Button
              className={`${buttons.button} ${buttons.quiet} ${buttons.icon}`}
              aria-label={texts.download(visibleText(path))}
              onPress={() => void download(path)}
            >
              <Icon name="download" size={14} />
            </Button>
          </li>
        ))}
      </ul>
      {data.truncated && <p className={styles.soft}>{texts.moreFiles}</p>}
      <Link to="/sessions/{-$id}" params={{ id }}>
        {texts.openSession}
      </Link>
    </div>
  );
}

const noFiles = { files: [], truncated: false };
