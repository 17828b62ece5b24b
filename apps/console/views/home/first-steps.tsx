// The next step on a gateway that nobody has asked anything: the chat of this page, or a program.
import { Link } from '@tanstack/react-router';
import { gatewayUrl } from '../../api/addresses.js';
import { useMay, useMe } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { Command } from '../../widgets/shown/copy-button.js';
import { homeStrings } from './strings.js';
import styles from './home.module.css';

export function FirstSteps() {
  const texts = useStrings(homeStrings);
  const mayChat = useMay('chat');
  const isOpen = useMe()?.sign_in.open === true;
  const baseUrl = `${gatewayUrl}/v1`;
  return (
    <section className={styles.steps} aria-labelledby="first-steps">
      <h2 id="first-steps">{texts.firstSteps}</h2>
      <p>{texts.firstStepsText}</p>
      {mayChat === true && (
        <p>
          <Link to="/chat" className={`${buttons.button} ${buttons.primary}`}>
            {texts.tryChat}
          </Link>
        </p>
      )}
      <dl className={styles.commands}>
        <dt>{texts.baseUrl}</dt>
        <dd>
          <Command text={baseUrl} />
        </dd>
        <dt>{texts.asCurl}</dt>
        <dd>
          <Command text={curlOf(baseUrl, isOpen)} />
        </dd>
      </dl>
      <p className={styles.soft}>{isOpen ? texts.noKeyNeeded : texts.keyNeeded}</p>
    </section>
  );
}

const curlOf = (baseUrl: string, isOpen: boolean): string =>
  [
    `curl ${baseUrl}/chat/completions -H 'content-type: application/json'`,
    ...(isOpen ? [] : [`-H "authorization: Bearer $SIGNALBOX_API_KEY"`]),
    `-d '{"model": "default", "messages": [{"role": "user", "content": "Hello"}]}'`,
  ].join(' ');
