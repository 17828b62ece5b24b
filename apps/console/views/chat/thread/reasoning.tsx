// What a model thought before it answered. It is folded; while it is written, its last line shows that something happens.
import { memo, useState } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { chatStrings } from '../strings.js';
import { AnswerText } from './answer-text.js';
import styles from './thread.module.css';

const glimpseLength = 120;

export const Reasoning = memo(function Reasoning({ text, grows }: { text: string; grows: boolean }) {
  const texts = useStrings(chatStrings);
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={styles.reasoning} open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {grows ? texts.thinking : texts.reasoning}
        {grows && !isOpen && (
          <span className={styles.glimpse}>{visibleText(text.trimEnd().slice(-glimpseLength))}</span>
        )}
      </summary>
      {isOpen && <AnswerText text={text} />}
    </details>
  );
});
