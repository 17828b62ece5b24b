// Two values beside each other, as far as they differ.
import { useStrings } from '../../i18n/language.js';
import type { Json } from '../forms/form-schema.js';
import { LongText } from '../shown/long-text.js';
import { visibleText } from '../shown/visible-text.js';
import { changedParts } from './changed-parts.js';
import { decisionStrings } from './decision-strings.js';
import styles from './decisions.module.css';

export function Changes({ before, after }: { before: Json | undefined; after: Json | undefined }) {
  const texts = useStrings(decisionStrings);
  const parts = changedParts(before, after);
  if (parts.length === 0) return <p className={styles.soft}>{texts.unchanged}</p>;
  return (
    <dl className={styles.changes} aria-label={texts.changes}>
      {parts.map((part) => (
        <div key={part.path} className={styles.change}>
          <dt>{part.path === '' ? texts.whole : visibleText(part.path)}</dt>
          {part.before !== undefined && (
            <dd>
              <del className={styles.before}>
                <LongText text={part.before} isCode />
              </del>
            </dd>
          )}
          {part.after !== undefined && (
            <dd>
              <ins className={styles.after}>
                <LongText text={part.after} isCode />
              </ins>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
