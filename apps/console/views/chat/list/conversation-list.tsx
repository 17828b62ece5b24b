// The conversations that this browser keeps, newest first, with a search.
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import { useExternal } from '../../../api/external-value.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { TextFilter } from '../../../widgets/lists/text-filter.js';
import { notify, notifyFailure } from '../../../widgets/notices.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import type { Chats } from '../store/chats.js';
import { chatStrings } from '../strings.js';
import { readJsonFile, toJsonFile } from '../transfer/conversation-files.js';
import { saveFile } from '../../../widgets/save-file.js';
import styles from './conversation-list.module.css';

export interface ConversationListProps {
  chats: Chats;
  openId: string;
  onChoose?: () => void;
}

export function ConversationList({ chats, openId, onChoose }: ConversationListProps) {
  const texts = useStrings(chatStrings);
  const all = useExternal(chats.list);
  const [search, setSearch] = useState<string>();
  const found = chats.search(search ?? '');
  async function importFile(file: File) {
    try {
      const conversations = readJsonFile(await file.text());
      for (const conversation of conversations) await chats.save(conversation);
      notify(texts.imported(conversations.length));
    } catch {
      notifyFailure(new Error(texts.notImported));
    }
  }
  return (
    <nav className={styles.conversations} aria-label={texts.conversations}>
      <TextFilter label={texts.search} value={search} onChange={setSearch} />
      {found.length === 0 && (
        <p className={styles.none}>{all?.length === 0 ? texts.noConversations : texts.nothingFound}</p>
      )}
      <ul className={styles.list}>
        {found.map(({ id, title, updatedAt }) => (
          <li key={id}>
            <Link
              to="/chat/{-$session}"
              params={{ session: id }}
              className={styles.link}
              aria-current={id === openId ? 'page' : undefined}
              onClick={onChoose}
            >
              <span className={styles.title}>{visibleText(title) || texts.untitled}</span>
              <span className={styles.time}>
                <TimeAgo time={updatedAt / 1_000} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <div className={styles.transfer}>
        <FileTrigger
          acceptedFileTypes={['application/json', '.json']}
          onSelect={(files) => files?.[0] !== undefined && void importFile(files[0])}
        >
          <Button className={`${buttons.button} ${buttons.quiet}`}>{texts.import}</Button>
        </FileTrigger>
        {all !== undefined && all.length > 0 && (
          <Button
            className={`${buttons.button} ${buttons.quiet}`}
            onPress={() => void chats.all().then((each) => saveFile('conversations.json', toJsonFile(each)))}
          >
            {texts.exportAll}
          </Button>
        )}
      </div>
    </nav>
  );
}
