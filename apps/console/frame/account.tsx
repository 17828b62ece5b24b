// Who uses the page, its language and its theme: the foot of the navigation.
import { useExternal } from '../api/external-value.js';
import { keepCredential } from '../api/credentials.js';
import { useMe } from '../api/me.js';
import { useLanguage, useStrings } from '../i18n/language.js';
import { frameStrings } from './strings.js';
import { chooseTheme, type Theme, theme } from './theme.js';
import styles from './account.module.css';

/** The page begins anew, with nothing of whoever used it. */
function signOut(): void {
  keepCredential(undefined);
  location.reload();
}

export function Account() {
  const texts = useStrings(frameStrings);
  const { language, choose } = useLanguage();
  const chosen = useExternal(theme);
  const me = useMe();
  return (
    <div className={styles.account}>
      {me?.signed_in === 'open' && <p>{texts.openGateway}</p>}
      {(me?.signed_in === 'key' || me?.signed_in === 'jwt') && (
        <div className={styles.person}>
          <p>{texts.signedInAs(me.principal ?? '')}</p>
          <button type="button" className={styles.leave} onClick={signOut}>
            {texts.signOut}
          </button>
        </div>
      )}
      <div className={styles.choices}>
        <select
          aria-label={texts.language}
          value={language}
          onChange={({ target }) => choose(target.value === 'zh' ? 'zh' : 'en')}
        >
          <option value="en" lang="en">
            English
          </option>
          <option value="zh" lang="zh">
            中文
          </option>
        </select>
        <select aria-label={texts.theme} value={chosen} onChange={({ target }) => chooseTheme(target.value as Theme)}>
          <option value="system">{texts.themeSystem}</option>
          <option value="light">{texts.themeLight}</option>
          <option value="dark">{texts.themeDark}</option>
        </select>
      </div>
    </div>
  );
}
