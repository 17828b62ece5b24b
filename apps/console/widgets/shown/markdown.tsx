// A model's text as markdown. Its code is loaded when the first such text is shown; until then the text stands as it is.
import { type MouseEvent, useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import { useStrings } from '../../i18n/language.js';
import { widgetStrings } from '../strings.js';
import { copyText } from './copy-button.js';
import { LongText } from './long-text.js';
import styles from './markdown.module.css';

/** Longer texts are shown as they are. */
const longest = 200_000;

export function Markdown({ text }: { text: string }) {
  const texts = useStrings(widgetStrings);
  const { data: render } = useQuery({
    queryKey: ['code', 'markdown'],
    queryFn: async () => (await import('./render-markdown.js')).renderMarkdown,
    staleTime: Infinity,
    gcTime: Infinity,
  });
  const html = useMemo(
    () => (text.length > longest ? undefined : render?.(text, texts.copy)),
    [render, text, texts.copy],
  );
  if (html === undefined) return <LongText text={text} />;
  return <div className={styles.markdown} dir="auto" onClick={copyCode} dangerouslySetInnerHTML={{ __html: html }} />;
}

/** The buttons of blocks of code are made with them: one listener serves all. */
function copyCode({ target }: MouseEvent): void {
  const button = (target as HTMLElement).closest('button[data-copy]');
  if (button !== null) void copyText(button.parentElement?.querySelector('pre')?.textContent ?? '');
}
