// What is to be said of a turn beside its answer: it waits, it was cut, stopped, ended by a limit, or failed.
import { Button } from 'react-aria-components/Button';
import { sentenceOf } from '../../../api/failure.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { WayOut } from '../../../widgets/states.js';
import type { TurnNode } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { chatStrings } from '../strings.js';
import styles from './thread.module.css';

export function TurnState({ turn, chat }: { turn: TurnNode; chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const { language } = useLanguage();
  const { state, answer, error } = turn;
  const { parts, finishReason, stoppedBy, warnings = [] } = answer;
  const last = parts.at(-1);
  const isWaitingForModel =
    state === 'running' && (last === undefined || (last.type === 'call' && last.status === 'ended'));
  const isAsking = state === 'running' && parts.some((part) => part.type === 'call' && part.status === 'waiting');
  return (
    <>
      <div role="status" className={styles.state}>
        {isWaitingForModel && <span className={styles.working}>{texts.working}</span>}
        {state === 'cut' && texts.cut}
        {state === 'stopped' && texts.stopped}
        {isAsking && <span className={styles.onlyHeard}>{texts.asksYou}</span>}
        {state === 'done' && <span className={styles.onlyHeard}>{texts.answered}</span>}
      </div>
      {finishReason === 'length' && <p className={styles.note}>{texts.lengthEnd}</p>}
      {finishReason === 'content_filter' && <p className={styles.note}>{texts.filterEnd}</p>}
      {stoppedBy !== undefined && warnings.length === 0 && <p className={styles.note}>{texts.stoppedBy(stoppedBy)}</p>}
      {warnings.map(({ message }) => (
        <p key={message} className={styles.note}>
          {visibleText(message)}
        </p>
      ))}
      {state === 'failed' && error !== undefined && (
        <div className={styles.failed} role="alert">
          <strong>{texts.failed}</strong>
          <p>{error.code === 'page_left' ? texts.pageLeft : visibleText(sentenceOf(error, language))}</p>
          <p className={styles.facts}>
            {error.code !== undefined && error.code !== 'page_left' && <code>{error.code}</code>}
            {error.requestId !== undefined && (
              <span>
                {texts.requestId} <code>{error.requestId}</code>
              </span>
            )}
          </p>
          <WayOut code={error.code} />
          <Button className={buttons.button} onPress={() => chat.retry(turn)}>
            {texts.retry}
          </Button>
        </div>
      )}
    </>
  );
}
