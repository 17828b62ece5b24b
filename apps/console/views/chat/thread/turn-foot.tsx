// Below an answer: branches, copying, asking again, the run, and the request as a program.
import { Link } from '@tanstack/react-router';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../../api/addresses.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { notify, notifyFailure } from '../../../widgets/notices.js';
import { CopyButton, copyText } from '../../../widgets/shown/copy-button.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { widgetStrings } from '../../../widgets/strings.js';
import { requestOfTurn } from '../conversation/chat-request.js';
import { isRun } from '../conversation/conversation.js';
import { chatStrings } from '../strings.js';
import { copyAs, copyLanguages } from '../transfer/copy-as.js';
import { Branches, type TurnViewProps } from './branches.js';
import styles from './thread.module.css';

export function TurnFoot({ turn, branches, chat, isLast }: TurnViewProps) {
  const texts = useStrings(chatStrings);
  const { copied } = useStrings(widgetStrings);
  const formats = useFormats();
  const { runId, usage, model, parts } = turn.answer;
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : [])).join('\n\n');
  const copyRequest = (language: (typeof copyLanguages)[number]) => {
    const program = copyAs(language, requestOfTurn(chat.conversation, turn), gatewayUrl);
    copyText(program).then(() => notify(copied), notifyFailure);
  };
  return (
    <footer className={styles.foot}>
      <div className={styles.actions}>
        <Branches node={turn} {...branches} />
        {text !== '' && <CopyButton text={text} />}
        <Button className={`${buttons.button} ${buttons.quiet}`} onPress={() => chat.askAgain(turn)}>
          {texts.askAgain}
        </Button>
        {isRun(turn) && runId !== undefined && (
          <Link className={styles.run} to="/runs/$id" params={{ id: runId }}>
            {texts.openRun}
          </Link>
        )}
        <span className={styles.facts}>
          {model !== undefined && <span>{model}</span>}
          {usage !== undefined && <span>{texts.tokens(formats.number(usage.total_tokens))}</span>}
          {turn.endedAt !== undefined && <span>{formats.duration(turn.endedAt - turn.at)}</span>}
        </span>
      </div>
      {isLast && (
        <div className={styles.actions}>
          <span className={styles.copyAs}>{texts.copyAs}</span>
          {copyLanguages.map((language) => (
            <Button
              key={language}
              className={`${buttons.button} ${buttons.quiet}`}
              aria-label={texts.copyAsOf(language)}
              onPress={() => copyRequest(language)}
            >
              {language}
            </Button>
          ))}
        </div>
      )}
    </footer>
  );
}
