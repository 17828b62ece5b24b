// What stands before the conversation.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Dialog, DialogActions } from '../../../widgets/dialog.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import styles from './options.module.css';

export function SystemPrompt({ chat }: { chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const { options } = useConversation(chat);
  const [isOpen, setOpen] = useState(false);
  const isSet = options.system.trim() !== '';
  return (
    <>
      <Button
        className={`${buttons.button} ${buttons.quiet} ${isSet ? styles.isSet : ''}`}
        onPress={() => setOpen(true)}
      >
        {texts.systemPrompt}
      </Button>
      <Dialog heading={texts.systemPrompt} isOpen={isOpen} onClose={() => setOpen(false)} isWide>
        <p className={styles.about}>{texts.systemPromptAbout}</p>
        <textarea
          className={styles.area}
          aria-label={texts.systemPrompt}
          rows={10}
          dir="auto"
          value={options.system}
          onChange={({ target }) => chat.setOptions({ ...options, system: target.value })}
        />
        <DialogActions>
          <Button className={`${buttons.button} ${buttons.primary}`} onPress={() => setOpen(false)}>
            {texts.done}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
