// What a part of a view shows in place of its data: it loads, there is none, it failed.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { describeFailure } from '../api/failure.js';
import { useLanguage, useStrings } from '../i18n/language.js';
import buttons from './button.module.css';
import { widgetStrings } from './strings.js';
import styles from './states.module.css';

export function Loading() {
  const texts = useStrings(widgetStrings);
  return (
    <div className={styles.loading} role="status">
      {texts.loading}
    </div>
  );
}

export interface NoticeProps {
  heading?: string;
  text: ReactNode;
  /** What one may do: links, buttons, a command to copy. */
  children?: ReactNode;
}

/** For what is empty, missing or forbidden. */
export function Notice({ heading, text, children }: NoticeProps) {
  return (
    <div className={styles.notice}>
      {heading !== undefined && <h2>{heading}</h2>}
      <p>{text}</p>
      {children !== undefined && <div className={styles.steps}>{children}</div>}
    </div>
  );
}

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const texts = useStrings(widgetStrings);
  const { language } = useLanguage();
  const { sentence, code, requestId } = describeFailure(error, language);
  return (
    <div className={styles.failure} role="alert">
      <h2>{texts.failed}</h2>
      <p>{sentence}</p>
      <dl className={styles.facts}>
        {code !== undefined && (
          <div>
            <dt>{texts.code}</dt>
            <dd>
              <code>{code}</code>
            </dd>
          </div>
        )}
        {requestId !== undefined && (
          <div>
            <dt>{texts.requestId}</dt>
            <dd>
              <code>{requestId}</code>
            </dd>
          </div>
        )}
      </dl>
      <WayOut code={code} />
      {onRetry !== undefined && (
        <Button className={buttons.button} onPress={onRetry}>
          {texts.retry}
        </Button>
      )}
    </div>
  );
}

/** Where a person can do something about the failure, if there is such a place. */
export function WayOut({ code }: { code: string | undefined }) {
  const texts = useStrings(widgetStrings);
  if (code !== 'connection_needed') return null;
  return (
    <Link to="/connections" className={`${buttons.button} ${buttons.primary}`}>
      {texts.signInFirst}
    </Link>
  );
}
