// Three requests that show in a minute what the gateway does: a tool writes, a tool reads, a call asks first. They work with every
// model, the offline one too.
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { runningTurn, shownPath } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { useOfferableTools } from '../store/use-tools.js';
import { chatStrings } from '../strings.js';
import styles from './thread.module.css';

const server = 'workspace';
const asking = `${server}/delete_file`;

export function Starters({ chat, onStart }: { chat: OpenChat; onStart: () => void }) {
  const texts = useStrings(chatStrings);
  const conversation = useConversation(chat);
  const { tools = [] } = useOfferableTools();
  const names = tools.flatMap((tool) => (tool.server === server ? [tool.function.name] : []));
  const asked = shownPath(conversation).flatMap((node) => (node.kind === 'asked' ? [node.text] : []));
  const all = [
    { text: texts.starterWrite },
    { text: texts.starterRead },
    { text: texts.starterApproval, note: texts.starterApprovalNote },
  ];
  const left = all.filter(({ text }) => !asked.includes(text));
  // In a conversation of another kind they would be in the way.
  const isTour = asked.every((text) => all.some((starter) => starter.text === text));
  if (names.length === 0 || !isTour || left.length === 0 || runningTurn(conversation) !== undefined) return null;
  const start = (text: string) => {
    const { options } = conversation;
    const asks = options.asks.includes(asking) ? options.asks : [...options.asks, asking];
    chat.setOptions({ ...options, asks, tools: { ...options.tools, [server]: names } });
    chat.send(text);
    onStart();
  };
  return (
    <div className={styles.starters}>
      {asked.length === 0 && <p>{texts.tryIt}</p>}
      <ul>
        {left.map(({ text, note }) => (
          <li key={text}>
            <Button className={`${buttons.button} ${styles.starter}`} onPress={() => start(text)}>
              {text}
              {note !== undefined && <span className={styles.starterNote}>{note}</span>}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
