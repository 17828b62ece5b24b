// Light or dark: by the system, until somebody chooses. The choice outlives the tab.
import { ExternalValue } from '../api/external-value.js';

export type Theme = 'system' | 'light' | 'dark';

const place = 'signalbox.theme';

export const theme = new ExternalValue<Theme>(readTheme());
show(theme.get());

export function chooseTheme(next: Theme): void {
  localStorage.setItem(place, next);
  show(next);
  theme.set(next);
}

function readTheme(): Theme {
  const kept = localStorage.getItem(place);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

function show(next: Theme): void {
  const { dataset } = document.documentElement;
  if (next === 'system') delete dataset['theme'];
  else dataset['theme'] = next;
}
