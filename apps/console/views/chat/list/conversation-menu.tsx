// What one does with a whole conversation: rename, export, delete.
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { ConfirmDialog, Dialog, DialogActions } from '../../../widgets/dialog.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { titleOf } from '../conversation/conversation.js';
import type { Chats } from '../store/chats.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import { toJsonFile, toMarkdownFile } from '../transfer/conversation-files.js';
import { saveFile } from '../../../widgets/save-file.js';
import { fileNameOf } from '../transfer/file-name.js';
import styles from './conversation-menu.module.css';

export function ConversationMenu({ chats, chat }: { chats: Chats; chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const navigate = useNavigate();
  const conversation = useConversation(chat);
  const [asked, setAsked] = useState<'rename' | 'remove'>();
  const title = titleOf(conversation);
  const isEmpty = Object.keys(conversation.nodes).length === 0;
  async function remove() {
    await chats.remove(conversation.id);
    await navigate({ to: '/chat/{-$session}', params: { session: undefined }, replace: true });
  }
  const close = () => setAsked(undefined);
  return (
    <>
      <MenuTrigger>
        <Button className={buttons.button} isDisabled={isEmpty}>
          {texts.more}
        </Button>
        <Popover className={styles.popover} placement="bottom end">
          <Menu className={styles.menu}>
            <MenuItem className={styles.item} onAction={() => setAsked('rename')}>
              {texts.rename}
            </MenuItem>
            <MenuItem
              className={styles.item}
              onAction={() => saveFile(fileNameOf(title, 'json'), toJsonFile([conversation]))}
            >
              {texts.exportJson}
            </MenuItem>
            <MenuItem
              className={styles.item}
              onAction={() => saveFile(fileNameOf(title, 'md'), toMarkdownFile(conversation, texts), 'text/markdown')}
            >
              {texts.exportMarkdown}
            </MenuItem>
            <MenuItem className={`${styles.item} ${styles.danger}`} onAction={() => setAsked('remove')}>
              {texts.remove}
            </MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      <ConfirmDialog
        heading={texts.removeHeading}
        text={texts.removeText(visibleText(title))}
        action={texts.remove}
        isOpen={asked === 'remove'}
        onConfirm={() => void remove()}
        onClose={close}
      />
      <Dialog heading={texts.rename} isOpen={asked === 'rename'} onClose={close}>
        <form
          className={styles.form}
          onSubmit={(event) => {
            event.preventDefault();
            const name = new FormData(event.currentTarget).get('name');
            if (typeof name === 'string') chat.rename(name);
            close();
          }}
        >
          <label className={styles.field}>
            {texts.name}
            <input name="name" defaultValue={title} maxLength={200} autoFocus />
          </label>
          <DialogActions>
            <Button className={buttons.button} onPress={close}>
              {texts.cancel}
            </Button>
            <Button className={`${buttons.button} ${buttons.primary}`} type="submit">
              {texts.save}
            </Button>
          </DialogActions>
        </form>
      </Dialog>
    </>
  );
}
