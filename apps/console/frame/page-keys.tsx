// What opens by a key from anywhere: the palette, and the list of keys.
import { lazy, Suspense, useState } from 'react';
import { ExternalValue, useExternal } from '../api/external-value.js';
import { useStrings } from '../i18n/language.js';
import { Dialog } from '../widgets/dialog.js';
import { isMac, type Shortcut, shortcuts, useShortcut } from '../widgets/shortcuts.js';
import { frameStrings } from './strings.js';
import styles from './page-keys.module.css';

const Palette = lazy(() => import('./palette.js'));

export const paletteOpen = new ExternalValue(false);

export function PageKeys() {
  const texts = useStrings(frameStrings);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const isPaletteOpen = useExternal(paletteOpen);
  useShortcut({ key: 'mod+k', label: texts.keyPalette, isGlobal: true }, () => paletteOpen.set(true));
  useShortcut({ key: '?', label: texts.keyHelp, isGlobal: true }, () => setHelpOpen(true));
  useShortcut({ key: '/', label: texts.keySearch, isGlobal: true }, () =>
    document.querySelector<HTMLElement>('[data-filter]')?.focus(),
  );
  return (
    <>
      <Suspense>{isPaletteOpen && <Palette onClose={() => paletteOpen.set(false)} />}</Suspense>
      <Dialog heading={texts.keys} isOpen={isHelpOpen} onClose={() => setHelpOpen(false)}>
        <KeyList />
      </Dialog>
    </>
  );
}

function KeyList() {
  const texts = useStrings(frameStrings);
  const all = useExternal(shortcuts);
  const groups = [
    { name: texts.keysHere, keys: all.filter(({ isGlobal }) => isGlobal !== true) },
    { name: texts.keysEverywhere, keys: [...all.filter(({ isGlobal }) => isGlobal), escape(texts.keyClose)] },
  ];
  return groups.map(
    ({ name, keys }) =>
      keys.length > 0 && (
        <section key={name} className={styles.group}>
          <h3>{name}</h3>
          <dl className={styles.keys}>
            {keys.map(({ key, label }) => (
              <div key={`${key} ${label}`}>
                <dt>
                  <kbd>{keyName(key)}</kbd>
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
          </dl>
        </section>
      ),
  );
}

const escape = (label: string): Shortcut => ({ key: 'Esc', label });

export function keyName(key: string): string {
  if (!key.startsWith('mod+')) return key;
  const letter = key.slice('mod+'.length).toUpperCase();
  return isMac ? `⌘${letter}` : `Ctrl ${letter}`;
}
