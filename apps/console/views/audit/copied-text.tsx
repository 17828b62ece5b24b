// A hash or an id, with a button that copies it.
import { CopyButton } from '../../widgets/shown/copy-button.js';
import styles from './audit.module.css';

export const CopiedText = ({ text, label }: { text: string; label: string }) => (
  <span className={styles.copied}>
    <code>{text}</code>
    <CopyButton text={text} label={label} />
  </span>
);
