// What was said, from the first message to the last. The thread stays at its end while it grows, unless somebody scrolled up.
import { useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { childrenOf, type ChatNode, runningTurn, shownPath } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import { AskedMessage } from './asked-message.js';
import { Starters } from './starters.js';
import { TurnView } from './turn-view.js';
import styles from './thread.module.css';

const nearPx = 80;

export interface ThreadProps {
  chat: OpenChat;
  isFresh: boolean;
  /** The first message of a conversation was sent from here. */
  onStart: () => void;
}

export function Thread({ chat, isFresh, onStart }: ThreadProps) {
  const texts = useStrings(chatStrings);
  const conversation = useConversation(chat);
  const path = shownPath(conversation);
  const last = path.at(-1);
  const running = runningTurn(conversation);
  const place = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const toEnd = () => {
    const element = place.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };
  const lastAsked = path.findLast(({ kind }) => kind === 'asked')?.id;
  useEffect(() => {
    isAtEnd.current = true;
    toEnd();
  }, [lastAsked]);
  useEffect(() => {
    const content = place.current?.firstElementChild;
    if (content == null) return undefined;
    const watch = new ResizeObserver(() => isAtEnd.current && toEnd());
    watch.observe(content);
    return () => watch.disconnect();
  }, []);
  const onScroll = () => {
    const { scrollHeight, scrollTop, clientHeight } = place.current!;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearPx;
    setAway(!isAtEnd.current);
  };
  return (
    <div className={styles.thread}>
      <div
        ref={place}
        className={styles.scroll}
        onScroll={onScroll}
        role="region"
        aria-label={texts.title}
        tabIndex={0}
      >
        <div className={styles.column}>
          {path.length === 0 && (
            <div className={styles.hello}>
              <h2>{texts.hello}</h2>
              {!isFresh && <p>{texts.otherSession}</p>}
            </div>
          )}
          {path.map((node) => {
            const siblings = childrenOf(conversation, node.parent);
            const branches = { siblings, onChoose: (other: ChatNode) => chat.choose(other) };
            if (node.kind === 'asked') {
              return (
                <AskedMessage
                  key={node.id}
                  node={node}
                  branches={branches}
                  chat={chat}
                  isBusy={running !== undefined}
                />
              );
            }
            return <TurnView key={node.id} turn={node} branches={branches} chat={chat} isLast={node === last} />;
          })}
          <Starters chat={chat} onStart={onStart} />
        </div>
      </div>
      {isAway && (
        <Button className={`${buttons.button} ${styles.latest}`} onPress={toEnd}>
          {texts.latest}
        </Button>
      )}
    </div>
  );
}
