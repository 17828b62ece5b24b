// Where one writes, and what the next turn is asked with.
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import { useMay } from '../../../api/me.js';
import { Icon } from '../../../frame/icon.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { offerName } from '../../../widgets/offers.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { runningTurn } from '../conversation/conversation.js';
import { ModelChoice } from '../options/model-choice.js';
import { SystemPrompt } from '../options/system-prompt.js';
import { ToolsChoice } from '../options/tools-choice.js';
import { keepDraft, readDraft } from '../store/drafts.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import type { Attachments } from './use-attachments.js';
import styles from './composer.module.css';

export interface ComposerProps {
  chat: OpenChat;
  /** Where what was typed is kept until it is sent. */
  draft: { owner: string; id: string };
  attachments: Attachments;
  send: (text: string) => void;
}

export function Composer({ chat, draft, attachments, send }: ComposerProps) {
  const texts = useStrings(chatStrings);
  const conversation = useConversation(chat);
  const mayRead = useMay('tools') ?? false;
  const mayUpload = useMay('files') ?? false;
  const [text, setText] = useState(() => readDraft(draft.owner, draft.id));
  const field = useRef<HTMLTextAreaElement>(null);
  const isRunning = runningTurn(conversation) !== undefined;
  const canSend = !isRunning && text.trim() !== '' && attachments.uploading.length === 0;
  useEffect(() => {
    const area = field.current;
    if (area === null) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);
  const type = (next: string) => {
    setText(next);
    keepDraft(draft.owner, draft.id, next);
  };
  const submit = () => {
    if (!canSend) return;
    type('');
    send(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Safari ends a composition before it tells of the key that ended it: 229.
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== 'Enter' || event.shiftKey || isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <div className={styles.composer} role="group" aria-label={texts.message}>
      <Attached attachments={attachments} />
      <textarea
        ref={field}
        className={styles.text}
        aria-label={texts.message}
        placeholder={texts.placeholder}
        rows={1}
        dir="auto"
        value={text}
        onChange={({ target }) => type(target.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0 || !mayUpload) return;
          event.preventDefault();
          void attachments.add(event.clipboardData.files);
        }}
      />
      <div className={styles.row}>
        <ModelChoice chat={chat} />
        <ToolsChoice chat={chat} />
        <SystemPrompt chat={chat} />
        {mayRead && (
          <Link
            to="/tools"
            search={{ tab: 'resources' }}
            className={`${buttons.button} ${buttons.quiet} ${buttons.icon}`}
            aria-label={texts.attachOffer}
            title={texts.attachOffer}
          >
            <Icon name="tools" />
          </Link>
        )}
        {mayUpload && (
          <FileTrigger allowsMultiple onSelect={(files) => files !== null && void attachments.add(files)}>
            <Button className={`${buttons.button} ${buttons.quiet} ${buttons.icon}`} aria-label={texts.attach}>
              <Icon name="plus" />
            </Button>
          </FileTrigger>
        )}
      </div>
      <div className={styles.end}>
        {isRunning ? (
          <Button key="stop" className={buttons.button} onPress={() => chat.stop()}>
            {texts.stop}
          </Button>
        ) : (
          // A press of Stop must not end as a click on Send, which takes its place.
          <Button key="send" className={`${buttons.button} ${buttons.primary}`} isDisabled={!canSend} onPress={submit}>
            {texts.send}
          </Button>
        )}
      </div>
    </div>
  );
}

function Attached({ attachments }: { attachments: Attachments }) {
  const texts = useStrings(chatStrings);
  const { paths, uploading, remove, offers, detach } = attachments;
  if (paths.length + uploading.length + offers.length === 0) return null;
  return (
    <ul className={styles.attached}>
      {paths.map((path) => (
        <li key={path} className={styles.file}>
          <span className={styles.path}>{visibleText(path)}</span>
          <button type="button" aria-label={texts.takeOut(visibleText(path))} onClick={() => remove(path)}>
            <Icon name="close" size={10} />
          </button>
        </li>
      ))}
      {offers.map((offer, at) => (
        <li key={at} className={styles.file}>
          <span className={styles.path}>{visibleText(offerName(offer))}</span>
          <button type="button" aria-label={texts.takeOut(visibleText(offerName(offer)))} onClick={() => detach(offer)}>
            <Icon name="close" size={10} />
          </button>
        </li>
      ))}
      {uploading.map((name) => (
        <li key={name} className={styles.file} role="status">
          {texts.uploading(visibleText(name))}
        </li>
      ))}
    </ul>
  );
}
