// A call that the person of the page runs: its result is a text, or JSON as text.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { chatStrings } from '../strings.js';
import styles from './call.module.css';

export function ClientResult({ onGive }: { onGive: (text: string) => void }) {
  const texts = useStrings(chatStrings);
  const [text, setText] = useState('');
  return (
    <form
      className={styles.asked}
      onSubmit={(event) => {
        event.preventDefault();
        onGive(text);
      }}
    >
      <p>{texts.yourCall}</p>
      <textarea
        className={styles.given}
        aria-label={texts.result}
        rows={3}
        dir="auto"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <div className={styles.acts}>
        <Button className={`${buttons.button} ${buttons.primary} ${styles.act}`} type="submit">
          {texts.giveResult}
        </Button>
      </div>
    </form>
  );
}
