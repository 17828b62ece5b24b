// An answer: what the model said and called, how it ended, and what one may do then.
import { memo } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { CallCard } from '../call/call-card.js';
import type { AnswerPart } from '../conversation/answer.js';
import type { TurnNode } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { chatStrings } from '../strings.js';
import { AnswerText } from './answer-text.js';
import type { TurnViewProps } from './branches.js';
import { Reasoning } from './reasoning.js';
import { TurnFoot } from './turn-foot.js';
import { TurnState } from './turn-state.js';
import styles from './thread.module.css';

export const TurnView = memo(
  function TurnView({ turn, branches, chat, isLast }: TurnViewProps) {
    const texts = useStrings(chatStrings);
    const { parts } = turn.answer;
    const isRunning = turn.state === 'running' || turn.state === 'cut';
    return (
      <article className={styles.turn} aria-label={texts.assistant} aria-busy={isRunning}>
        {parts.map((part, index) => (
          <Part
            key={part.type === 'call' ? part.id : index}
            part={part}
            turn={turn}
            chat={chat}
            isLast={isLast}
            grows={isRunning && index === parts.length - 1}
          />
        ))}
        <TurnState turn={turn} chat={chat} />
        {!isRunning && <TurnFoot {...{ turn, branches, chat, isLast }} />}
      </article>
    );
  },
  (before, after) =>
    before.turn === after.turn &&
    before.isLast === after.isLast &&
    before.chat === after.chat &&
    before.branches.siblings.length === after.branches.siblings.length,
);

function Part(props: { part: AnswerPart; turn: TurnNode; chat: OpenChat; isLast: boolean; grows: boolean }) {
  const { part, turn, chat, isLast, grows } = props;
  if (part.type === 'text') return <AnswerText text={part.text} />;
  if (part.type === 'reasoning') return <Reasoning text={part.text} grows={grows} />;
  return <CallCard call={part} turn={turn} chat={chat} isLast={isLast} />;
}
