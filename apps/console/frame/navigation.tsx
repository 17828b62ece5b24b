// Links to the views that the caller may see.
import { Link } from '@tanstack/react-router';
import { useMe } from '../api/me.js';
import { useLanguage, useStrings } from '../i18n/language.js';
import { addressOf, builtViews } from '../views.js';
import { Account } from './account.js';
import { Icon } from './icon.js';
import { keyName, paletteOpen } from './page-keys.js';
import { frameStrings } from './strings.js';
import styles from './navigation.module.css';

const groups = ['work', 'control', 'system'] as const;

export function Navigation({ onLeave }: { onLeave?: () => void }) {
  const texts = useStrings(frameStrings);
  const { language } = useLanguage();
  const scopes = useMe()?.scopes ?? [];
  const seen = builtViews.filter(({ scope }) => scope === undefined || scopes.includes(scope));
  return (
    <nav className={styles.navigation} aria-label={texts.navigation}>
      <p className={styles.product}>Signalbox</p>
      <button
        type="button"
        className={styles.jump}
        onClick={() => {
          onLeave?.();
          paletteOpen.set(true);
        }}
      >
        <Icon name="search" />
        {texts.jump}
        <kbd>{keyName('mod+k')}</kbd>
      </button>
      {groups.map((group) => {
        const views = seen.filter(({ navigation }) => navigation?.group === group);
        if (views.length === 0) return null;
        return (
          <div key={group} className={styles.group}>
            <p className={styles.heading} id={`group-${group}`}>
              {texts[group]}
            </p>
            <ul aria-labelledby={`group-${group}`}>
              {views.map((view) => (
                <li key={view.name}>
                  <Link
                    to={addressOf(view)}
                    className={styles.link}
                    activeOptions={{ exact: view.path === '/', includeSearch: false }}
                    onClick={onLeave}
                  >
                    <Icon name={view.navigation!.icon} />
                    {view.title[language]}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
      <Account />
    </nav>
  );
}
