// Keys that do something on the page. Each is in the list that `?` shows. Plain letters do nothing while somebody types.
import { useEffect, useRef } from 'react';
import { ExternalValue } from '../api/external-value.js';

export interface Shortcut {
  /** `j`, `?`, `Escape`, or `mod+k`: ⌘ on a Mac, Ctrl elsewhere. */
  key: string;
  label: string;
  /** True for keys of the whole page. */
  isGlobal?: boolean;
}

interface Listener extends Shortcut {
  run: () => void;
}

export const shortcuts = new ExternalValue<readonly Listener[]>([]);

/** `run` gets the key only while the component is there, and no dialog is open. The last one that was added wins. */
export function useShortcut({ key, label, isGlobal = false }: Shortcut, run: () => void): void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => {
    const listener: Listener = { key, label, isGlobal, run: () => latest.current() };
    shortcuts.set([...shortcuts.get(), listener]);
    return () => shortcuts.set(shortcuts.get().filter((each) => each !== listener));
  }, [key, label, isGlobal]);
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const isCommand = isMac ? event.metaKey : event.ctrlKey;
  if (!isCommand && (event.metaKey || event.ctrlKey)) return;
  const target = event.target as HTMLElement;
  if (!isCommand && target.closest('input, textarea, select, [contenteditable="true"]') !== null) return;
  if (document.querySelector('[role="dialog"], [role="alertdialog"]') !== null) return;
  const key = isCommand ? `mod+${event.key.toLowerCase()}` : event.key;
  const listener = shortcuts.get().findLast((each) => each.key === key);
  if (listener === undefined) return;
  event.preventDefault();
  listener.run();
});
