// Details beside what they are of. In a narrow window they cover it.
import { type ReactNode, useId } from 'react';
import { Button } from 'react-aria-components/Button';
import { Icon } from '../frame/icon.js';
import { useStrings } from '../i18n/language.js';
import buttons from './button.module.css';
import { widgetStrings } from './strings.js';
import styles from './side-panel.module.css';

export interface SidePanelProps {
  heading: string;
  onClose: () => void;
  children: ReactNode;
}

export function SidePanel({ heading, onClose, children }: SidePanelProps) {
  const texts = useStrings(widgetStrings);
  const id = useId();
  return (
    <aside
      className={styles.panel}
      aria-labelledby={id}
      onKeyDown={(event) => {
        // What is open within the panel closes first.
        if (event.key === 'Escape' && !event.defaultPrevented) onClose();
      }}
    >
      <header className={styles.header}>
        <h2 id={id}>{heading}</h2>
        <Button
          className={`${buttons.button} ${buttons.quiet} ${buttons.icon}`}
          aria-label={texts.close}
          onPress={onClose}
        >
          <Icon name="close" />
        </Button>
      </header>
      <div className={styles.content}>{children}</div>
    </aside>
  );
}
