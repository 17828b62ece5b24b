// The model of the next turn.
import { useQuery } from '@tanstack/react-query';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import styles from './options.module.css';

export function ModelChoice({ chat }: { chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const { options } = useConversation(chat);
  const { data = [] } = useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => api.models({ signal }),
    staleTime: 60_000,
  });
  const names = data.map(({ id }) => id);
  const chosen = options.model ?? '';
  // A model that is configured no longer stays chosen: the gateway says what is wrong with it.
  const shown = chosen === '' || names.includes(chosen) ? names : [...names, chosen];
  return (
    <select
      className={styles.model}
      aria-label={texts.model}
      value={chosen}
      onChange={({ target }) => chat.setOptions({ ...options, model: target.value || undefined })}
    >
      <option value="">{texts.defaultModel}</option>
      {shown.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
