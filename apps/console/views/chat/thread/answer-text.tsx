// A part of an answer that a model writes, as markdown. Of a text that grows only the last block is drawn again.
import { memo, useMemo } from 'react';
import { Markdown } from '../../../widgets/shown/markdown.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { textBlocks } from './text-blocks.js';
import styles from './thread.module.css';

/** Longer texts are shown as they are. */
const longest = 200_000;
const longestLine = 20_000;

const Block = memo(Markdown);

export const AnswerText = memo(function AnswerText({ text }: { text: string }) {
  const isPlain = text.length > longest || hasLongLine(text);
  const blocks = useMemo(() => (isPlain ? [] : textBlocks(text)), [isPlain, text]);
  if (isPlain) return <LongText text={text} />;
  return (
    <div className={styles.blocks}>
      {blocks.map((block, index) => (
        // Blocks have no other name than their place.
        <Block key={index} text={block} />
      ))}
    </div>
  );
});

function hasLongLine(text: string): boolean {
  if (text.length <= longestLine) return false;
  return text.split('\n').some((line) => line.length > longestLine);
}
