// Switches between the branches that begin at one place of a conversation.
import { Button } from 'react-aria-components/Button';
import { Icon } from '../../../frame/icon.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import type { ChatNode, TurnNode } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { chatStrings } from '../strings.js';
import styles from './thread.module.css';

export interface BranchPlace {
  siblings: readonly ChatNode[];
  onChoose: (node: ChatNode) => void;
}

export interface TurnViewProps {
  turn: TurnNode;
  branches: BranchPlace;
  chat: OpenChat;
  isLast: boolean;
}

export function Branches({ node, siblings, onChoose }: BranchPlace & { node: ChatNode }) {
  const texts = useStrings(chatStrings);
  if (siblings.length < 2) return null;
  const at = siblings.findIndex(({ id }) => id === node.id);
  const step = (label: string, to: number, className = '') => (
    <Button
      className={`${buttons.button} ${buttons.quiet} ${buttons.icon} ${className}`}
      aria-label={label}
      isDisabled={siblings[to] === undefined}
      onPress={() => onChoose(siblings[to]!)}
    >
      <Icon name="chevron" size={12} />
    </Button>
  );
  return (
    <span className={styles.branches}>
      {step(texts.previousBranch, at - 1, styles.turned)}
      <span>{texts.branch(at + 1, siblings.length)}</span>
      {step(texts.nextBranch, at + 1)}
    </span>
  );
}
