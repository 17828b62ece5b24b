// Chats: the conversations of this browser, the one that is open, and beside it its files or the events as they came.
import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { readOffer } from '../../widgets/offers.js';
import { Page } from '../../widgets/page.js';
import { SidePanel } from '../../widgets/side-panel.js';
import { Loading } from '../../widgets/states.js';
import { Composer } from './composer/composer.js';
import { useAttachments } from './composer/use-attachments.js';
import { DropPlace } from './files/drop-place.js';
import { SessionFiles } from './files/session-files.js';
import { Wire } from './files/wire.js';
import { ConversationList } from './list/conversation-list.js';
import { ConversationSheet } from './list/conversation-sheet.js';
import { ConversationMenu } from './list/conversation-menu.js';
import { StorageTrouble } from './list/storage-trouble.js';
import type { Chats } from './store/chats.js';
import type { OpenChat } from './store/open-chat.js';
import { useChats, useConversation, useOpenChat } from './store/use-chats.js';
import { chatStrings } from './strings.js';
import { Thread } from './thread/thread.js';
import { useKeyboardRoom } from './use-keyboard-room.js';
import styles from './chat-view.module.css';

export default function ChatView() {
  const texts = useStrings(chatStrings);
  const chats = useChats();
  if (chats === undefined) {
    return (
      <Page title={texts.title}>
        <Loading />
      </Page>
    );
  }
  return <ChatPlace key={chats.owner} chats={chats} />;
}

type Panel = 'files' | 'wire';

function ChatPlace({ chats }: { chats: Chats }) {
  const texts = useStrings(chatStrings);
  const navigate = useNavigate();
  const { session }: { session?: string } = useParams({ strict: false });
  const id = session ?? chats.freshId;
  const chat = useOpenChat(chats, id);
  const [panel, setPanel] = useState<Panel>();
  const [isListOpen, setListOpen] = useState(false);
  useKeyboardRoom();
  const panelButton = (name: Panel, label: string) => (
    <Button
      className={`${buttons.button} ${styles.toggle}`}
      aria-expanded={panel === name}
      onPress={() => setPanel(panel === name ? undefined : name)}
    >
      {label}
    </Button>
  );
  return (
    <Page
      title={texts.title}
      isWhole
      actions={
        <>
          <Button
            className={`${buttons.button} ${styles.narrowOnly} ${panel === undefined ? '' : styles.listHidden}`}
            onPress={() => setListOpen(true)}
          >
            {texts.conversations}
          </Button>
          <Button
            className={buttons.button}
            aria-label={texts.newChat}
            onPress={() => void navigate({ to: '/chat/{-$session}', params: { session: undefined } })}
          >
            <Icon name="plus" size={14} />
            <span className={styles.wideOnly}>{texts.newChat}</span>
          </Button>
          {panelButton('files', texts.files)}
          {panelButton('wire', texts.wire)}
          {chat !== undefined && <ConversationMenu key={id} chats={chats} chat={chat} />}
        </>
      }
    >
      <StorageTrouble chats={chats} />
      <div className={panel === undefined ? styles.place : `${styles.place} ${styles.withPanel}`}>
        <div className={styles.list}>
          <ConversationList chats={chats} openId={id} />
        </div>
        <ConversationSheet isOpen={isListOpen} onClose={() => setListOpen(false)}>
          <ConversationList chats={chats} openId={id} onChoose={() => setListOpen(false)} />
        </ConversationSheet>
        {chat === undefined ? (
          <Loading />
        ) : (
          <ChatPanels key={id} chats={chats} chat={chat} panel={panel} onClosePanel={() => setPanel(undefined)} />
        )}
      </div>
    </Page>
  );
}

interface ChatPanelsProps {
  chats: Chats;
  chat: OpenChat;
  panel: Panel | undefined;
  onClosePanel: () => void;
}

function ChatPanels({ chats, chat, panel, onClosePanel }: ChatPanelsProps) {
  const texts = useStrings(chatStrings);
  const navigate = useNavigate();
  const { id } = useConversation(chat);
  const isFresh = id === chats.freshId;
  /** A conversation has its address from its first message or file on. */
  const begin = () => {
    if (!isFresh) return;
    chats.begun();
    void navigate({ to: '/chat/{-$session}', params: { session: id }, replace: true });
  };
  const attachments = useAttachments(id);
  const [{ attach }, change] = useFilters(['attach']);
  const attachNamed = useEffectEvent((named: string) => {
    const offer = readOffer(named);
    if (offer !== undefined) attachments.attach(offer);
    change({ attach: undefined });
  });
  useEffect(() => {
    if (attach !== undefined) attachNamed(attach);
  }, [attach]);
  const send = (text: string) => {
    chat.send(text, attachments.take());
    begin();
  };
  const add = (files: Iterable<File>) => void attachments.add(files);
  return (
    <>
      <DropPlace onFiles={add}>
        <Thread chat={chat} onStart={begin} isFresh={isFresh} />
        <Composer draft={{ owner: chats.owner, id: isFresh ? 'new' : id }} {...{ chat, attachments, send }} />
      </DropPlace>
      {panel === 'files' && (
        <SidePanel heading={texts.files} onClose={onClosePanel}>
          <SessionFiles chat={chat} />
        </SidePanel>
      )}
      {panel === 'wire' && (
        <SidePanel heading={texts.wire} onClose={onClosePanel}>
          <Wire chat={chat} />
        </SidePanel>
      )}
    </>
  );
}
