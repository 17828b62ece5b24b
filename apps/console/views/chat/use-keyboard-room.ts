// On phones the keyboard covers the lower part of the page. What it covers is told to the styles, so that the composer stands above it.
import { useEffect } from 'react';

export function useKeyboardRoom(): void {
  useEffect(() => {
    const { visualViewport: view, document } = window;
    if (view === null) return undefined;
    const tell = () => {
      const covered = Math.max(0, window.innerHeight - view.height - view.offsetTop);
      document.documentElement.style.setProperty('--keyboard', `${Math.round(covered)}px`);
    };
    view.addEventListener('resize', tell);
    view.addEventListener('scroll', tell);
    return () => {
      view.removeEventListener('resize', tell);
      view.removeEventListener('scroll', tell);
      document.documentElement.style.removeProperty('--keyboard');
    };
  }, []);
}
