// Aliases: what they lead to, in the order in which it is tried, and how often the next entry had to answer.
import type { ModelAlias } from '@signalbox/client';
import { Button } from 'react-aria-components/Button';
import { sentenceOf } from '../../api/failure.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { useFormats } from '../../widgets/shown/formats.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { modelStrings } from './strings.js';
import styles from './models.module.css';

export function AliasList({ aliases, onTest }: { aliases: readonly ModelAlias[]; onTest: (model: string) => void }) {
  const texts = useStrings(modelStrings);
  if (aliases.length === 0) return <p className={styles.soft}>{texts.noAliases}</p>;
  return (
    <ul className={styles.aliases}>
      {aliases.map((alias) => (
        <li key={alias.name}>
          <h3>{visibleText(alias.name)}</h3>
          <ol className={styles.chain} aria-label={texts.order}>
            {alias.targets.map((target, index) => (
              <li key={index}>
                <code>{visibleText(target)}</code>
              </li>
            ))}
          </ol>
          {alias.problem === null ? (
            <Fallbacks fallbacks={alias.fallbacks} />
          ) : (
            <p className={styles.bad}>{visibleText(alias.problem)}</p>
          )}
          <Button className={buttons.button} aria-label={texts.testOf(alias.name)} onPress={() => onTest(alias.name)}>
            {texts.test}
          </Button>
        </li>
      ))}
    </ul>
  );
}

function Fallbacks({ fallbacks }: { fallbacks: ModelAlias['fallbacks'] }) {
  const texts = useStrings(modelStrings);
  const { language } = useLanguage();
  const { number } = useFormats();
  return (
    <div>
      <span className={styles.soft}>{texts.fallbacks}:</span>{' '}
      {fallbacks.length === 0
        ? texts.noFallbacks
        : fallbacks.map(({ from, to, count, last_at: lastAt, code, message }) => (
            <span key={`${from} ${to}`} className={styles.fallback}>
              <span>{texts.fallback(number(count), visibleText(from), visibleText(to))}</span>
              <small className={styles.soft}>
                {texts.lastTime} <TimeAgo time={lastAt} />: {visibleText(sentenceOf({ code, message }, language))}
              </small>
            </span>
          ))}
    </div>
  );
}
