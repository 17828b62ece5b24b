// Short messages about what was done or failed, at the foot of the page. They go by themselves, except failures.
import { Button } from 'react-aria-components/Button';
import { ExternalValue, useExternal } from '../api/external-value.js';
import { describeFailure } from '../api/failure.js';
import { Icon } from '../frame/icon.js';
import { useStrings } from '../i18n/language.js';
import buttons from './button.module.css';
import { widgetStrings } from './strings.js';
import styles from './notices.module.css';

interface ShortMessage {
  id: number;
  text: string;
  isFailure: boolean;
}

const shownMs = 6_000;
const most = 4;
const messages = new ExternalValue<readonly ShortMessage[]>([]);
let count = 0;

function add(text: string, isFailure: boolean): number {
  const id = ++count;
  messages.set([...messages.get(), { id, text, isFailure }].slice(-most));
  return id;
}

const remove = (id: number) => messages.set(messages.get().filter((each) => each.id !== id));

export function notify(text: string): void {
  const id = add(text, false);
  setTimeout(() => remove(id), shownMs);
}

/** For what a person asked for and that failed, as `onError` of a mutation. */
export function notifyFailure(error: unknown): void {
  const { sentence, code, requestId } = describeFailure(error);
  add([sentence, [code, requestId].filter(Boolean).join(', ')].filter(Boolean).join(' · '), true);
}

export function Notices() {
  const texts = useStrings(widgetStrings);
  return (
    <div className={styles.notices} role="log" aria-label={texts.messages}>
      {useExternal(messages).map(({ id, text, isFailure }) => (
        <div key={id} className={isFailure ? `${styles.notice} ${styles.failed}` : styles.notice}>
          <span>{text}</span>
          <Button
            className={`${buttons.button} ${buttons.quiet} ${buttons.icon}`}
            aria-label={texts.close}
            onPress={() => remove(id)}
          >
            <Icon name="close" size={12} />
          </Button>
        </div>
      ))}
    </div>
  );
}
