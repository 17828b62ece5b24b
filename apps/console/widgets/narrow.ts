// Whether the window is so narrow that the navigation is hidden, as the styles have it.
import { useSyncExternalStore } from 'react';

const narrow = matchMedia('(max-width: 860px)');

function follow(changed: () => void): () => void {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}

export const useNarrow = (): boolean => useSyncExternalStore(follow, () => narrow.matches);
