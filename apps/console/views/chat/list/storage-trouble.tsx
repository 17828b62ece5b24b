// Says that conversations are not kept, and why.
import { useExternal } from '../../../api/external-value.js';
import { useStrings } from '../../../i18n/language.js';
import type { Chats } from '../store/chats.js';
import { chatStrings } from '../strings.js';
import styles from './storage-trouble.module.css';

export function StorageTrouble({ chats }: { chats: Chats }) {
  const texts = useStrings(chatStrings);
  const trouble = useExternal(chats.trouble);
  if (trouble === undefined) return null;
  return (
    <p className={styles.trouble} role="alert">
      {trouble === 'full' ? texts.storageFull : texts.storageUnavailable}
    </p>
  );
}
