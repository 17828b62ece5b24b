// The language of the page: the one that was chosen last, first the browser's.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { I18nProvider } from 'react-aria-components/I18nProvider';
import type { Strings } from './define-strings.js';

export type Language = 'en' | 'zh';

const place = 'signalbox.language';
const locales = { en: 'en-US', zh: 'zh-CN' } as const;

interface LanguageChoice {
  language: Language;
  choose(language: Language): void;
}

const Choice = createContext<LanguageChoice>({ language: 'en', choose: () => {} });

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = locales[language];
  }, [language]);
  const choice = useMemo<LanguageChoice>(
    () => ({
      language,
      choose(next) {
        localStorage.setItem(place, next);
        setLanguage(next);
      },
    }),
    [language],
  );
  return (
    <Choice value={choice}>
      <I18nProvider locale={locales[language]}>{children}</I18nProvider>
    </Choice>
  );
}

function firstLanguage(): Language {
  const kept = localStorage.getItem(place);
  if (kept === 'en' || kept === 'zh') return kept;
  return navigator.languages
    .find((each) => /^(?:en|zh)\b/i.test(each))
    ?.toLowerCase()
    .startsWith('zh') === true
    ? 'zh'
    : 'en';
}

export const useLanguage = (): LanguageChoice => useContext(Choice);

/** The texts of a room in the language of the page. */
export function useStrings<Texts extends object>(strings: Strings<Texts>): Texts {
  return strings[useContext(Choice).language];
}

/** For `Intl`. */
export const useLocaleName = (): string => locales[useContext(Choice).language];
