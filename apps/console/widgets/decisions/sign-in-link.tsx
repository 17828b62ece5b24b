// Leads to the sign-in that a call waits for, in a tab of its own: the tool server and its issuer must not reach this page.
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { visibleText } from '../shown/visible-text.js';
import { decisionStrings } from './decision-strings.js';

export interface SignInLinkProps {
  server: string;
  address: string;
  /** Its owner keeps the wait in sight: it ends in the other tab. */
  onOpen?: (() => void) | undefined;
}

export function SignInLink({ server, address, onOpen }: SignInLinkProps) {
  const texts = useStrings(decisionStrings);
  return (
    <a
      className={`${buttons.button} ${buttons.primary}`}
      href={address}
      target="_blank"
      rel="noopener"
      aria-label={texts.signInAt(visibleText(server))}
      onClick={onOpen}
    >
      {texts.signIn}
    </a>
  );
}
