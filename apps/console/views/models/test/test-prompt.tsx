// Asks a model something short, as any caller would, and shows how that went.
import type { ModelsHealth } from '@signalbox/client';
import { useId, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { describeFailure } from '../../../api/failure.js';
import { useMay } from '../../../api/me.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Badge } from '../../../widgets/shown/badge.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { modelStrings } from '../strings.js';
import { adviceOf } from './advice.js';
import { costOf, priceOf } from './cost.js';
import { type TestState, useTestPrompt } from './use-test-prompt.js';
import styles from '../models.module.css';

export function TestPrompt({ model, health }: { model: string; health: ModelsHealth }) {
  const texts = useStrings(modelStrings);
  const mayChat = useMay('chat');
  const id = useId();
  const [message, setMessage] = useState<string>(texts.sample);
  const { now, start, stop } = useTestPrompt(model);
  const isRunning = now.state === 'running';
  if (mayChat === false) return <p>{texts.noChat}</p>;
  return (
    <div className={styles.test}>
      <p className={styles.soft}>{texts.testText}</p>
      <form
        className={styles.test}
        onSubmit={(event) => {
          event.preventDefault();
          if (isRunning) stop();
          else if (message.trim() !== '') start(message);
        }}
      >
        <div className={styles.field}>
          <label htmlFor={id}>{texts.message}</label>
          <textarea
            id={id}
            value={message}
            rows={2}
            maxLength={4_000}
            onChange={({ target }) => setMessage(target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            }}
          />
        </div>
        <div className={styles.actions}>
          <Button type="submit" className={`${buttons.button} ${isRunning ? '' : buttons.primary}`}>
            {isRunning ? texts.stop : texts.send}
          </Button>
        </div>
      </form>
      <div role="status" aria-label={texts.answer}>
        <Outcome now={now} model={model} health={health} />
      </div>
    </div>
  );
}

function Outcome({ now, model, health }: { now: TestState; model: string; health: ModelsHealth }) {
  const texts = useStrings(modelStrings);
  const { language } = useLanguage();
  const formats = useFormats();
  if (now.state === 'idle') return null;
  if (now.state === 'failed') {
    const { sentence, code, requestId } = describeFailure(now.error, language);
    const told = now.error instanceof Error ? now.error.message : '';
    return (
      <div className={styles.answer}>
        <div className={styles.actions}>
          <Badge tone="bad">{texts.didNotWork}</Badge>
        </div>
        <p className={styles.trouble}>{visibleText(sentence)}</p>
        <Facts layout="rows">
          <Fact name={texts.whatToDo}>{adviceOf({ code, model, health, texts })}</Fact>
          {told !== sentence && <Fact name={texts.gatewaySays}>{visibleText(told)}</Fact>}
          {code !== undefined && (
            <Fact name={texts.code}>
              <code>{code}</code>
            </Fact>
          )}
          {requestId !== undefined && (
            <Fact name={texts.requestId}>
              <code>{requestId}</code>
            </Fact>
          )}
        </Facts>
      </div>
    );
  }
  const { text, firstTokenMs, wholeMs, usage, answeredBy } = now;
  const price = priceOf(health, model, answeredBy);
  return (
    <div className={styles.answer}>
      {now.state === 'running' ? (
        firstTokenMs === undefined && <p className={styles.soft}>{texts.asking}</p>
      ) : (
        <div className={styles.actions}>
          <Badge tone="good">{texts.worked}</Badge>
        </div>
      )}
      {text !== '' && (
        <div className={styles.said}>
          <LongText text={text} />
        </div>
      )}
      {now.state === 'answered' && text === '' && <p className={styles.soft}>{texts.emptyAnswer}</p>}
      {now.state === 'answered' && (
        <Facts layout="rows">
          {firstTokenMs !== undefined && <Fact name={texts.firstToken}>{formats.duration(firstTokenMs)}</Fact>}
          {wholeMs !== undefined && <Fact name={texts.whole}>{formats.duration(wholeMs)}</Fact>}
          {usage !== undefined && (
            <Fact name={texts.tokens}>
              {texts.tokensOf(formats.number(usage.prompt_tokens), formats.number(usage.completion_tokens))}
            </Fact>
          )}
          {usage !== undefined && (
            <Fact name={texts.cost}>
              {price === null || price === undefined ? texts.unknownPriceHint : formats.usd(costOf(price, usage))}
            </Fact>
          )}
          {answeredBy !== undefined && answeredBy !== model && (
            <Fact name={texts.answeredBy}>
              <code>{visibleText(answeredBy)}</code>
            </Fact>
          )}
        </Facts>
      )}
    </div>
  );
}
