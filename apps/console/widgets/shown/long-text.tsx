// A text of any length as it is, without markup. The first part is shown; the rest on demand, piece by piece, so that a line
// of megabytes does not stop the page.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { widgetStrings } from '../strings.js';
import { visibleText } from './visible-text.js';
import styles from './long-text.module.css';

const firstLength = 4_000;
const piece = 100_000;

export function LongText({ text, isCode = false }: { text: string; isCode?: boolean }) {
  const texts = useStrings(widgetStrings);
  const [length, setLength] = useState(firstLength);
  const rest = text.length - length;
  return (
    <div className={styles.long}>
      <div className={isCode ? styles.code : styles.text} dir="auto" tabIndex={isCode ? 0 : undefined}>
        {visibleText(text.slice(0, length))}
      </div>
      {rest > 0 && (
        <Button className={buttons.button} onPress={() => setLength(length + piece)}>
          {texts.showMore(rest)}
        </Button>
      )}
    </div>
  );
}
