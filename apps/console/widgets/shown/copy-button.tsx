// Copies a text. The clipboard of the browser is missing on pages without TLS that are not of this machine.
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { widgetStrings } from '../strings.js';
import styles from './copy-button.module.css';

const saidMs = 2_000;

export interface CopyButtonProps {
  text: string | (() => string | Promise<string>);
  /** What is copied, for the name of the button: "Copy the id". Default: "Copy". */
  label?: string;
  /** Shows the label beside the icon. */
  isWorded?: boolean;
}

export function CopyButton({ text, label, isWorded = false }: CopyButtonProps) {
  const texts = useStrings(widgetStrings);
  const [copied, setCopied] = useState(0);
  useEffect(() => {
    if (copied === 0) return undefined;
    const timer = setTimeout(() => setCopied(0), saidMs);
    return () => clearTimeout(timer);
  }, [copied]);
  async function copy() {
    await copyText(typeof text === 'string' ? text : await text());
    setCopied((count) => count + 1);
  }
  const name = copied > 0 ? texts.copied : (label ?? texts.copy);
  return (
    <Button
      className={`${buttons.button} ${isWorded ? '' : `${buttons.quiet} ${buttons.icon}`}`}
      aria-label={name}
      onPress={() => void copy()}
    >
      <Icon name={copied > 0 ? 'check' : 'copy'} size={14} />
      {isWorded && name}
    </Button>
  );
}

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

/** A command or an address to copy, as the next step of an empty list. */
export function Command({ text }: { text: string }) {
  return (
    <div className={styles.command}>
      {/* A long one is scrolled, by keys too. */}
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} />
    </div>
  );
}
