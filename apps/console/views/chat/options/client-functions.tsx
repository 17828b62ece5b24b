// Functions of the person of the page: calls of them are answered by a form.
import type { FunctionTool } from '@signalbox/client';
import { useId, useState } from 'react';
import { useStrings } from '../../../i18n/language.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import styles from './options.module.css';

export function ClientFunctions({ chat }: { chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const { options } = useConversation(chat);
  const id = useId();
  const [text, setText] = useState(() =>
    options.functions.length === 0 ? '' : JSON.stringify(options.functions, null, 2),
  );
  const type = (typed: string) => {
    setText(typed);
    const functions = readFunctions(typed);
    if (functions !== undefined) chat.setOptions({ ...options, functions });
  };
  const isWrong = readFunctions(text) === undefined;
  return (
    <details className={styles.functions} open={options.functions.length > 0}>
      <summary>{texts.functions}</summary>
      <p className={styles.about} id={id}>
        {texts.functionsAbout}
      </p>
      <textarea
        className={`${styles.area} ${styles.code}`}
        aria-label={texts.functions}
        aria-describedby={id}
        aria-invalid={isWrong}
        rows={6}
        spellCheck={false}
        value={text}
        onChange={({ target }) => type(target.value)}
      />
      {isWrong && (
        <p className={styles.wrong} role="alert">
          {texts.notFunctions}
        </p>
      )}
    </details>
  );
}

function readFunctions(text: string): FunctionTool[] | undefined {
  if (text.trim() === '') return [];
  try {
    const read = JSON.parse(text) as unknown;
    return Array.isArray(read) && read.every(isFunctionTool) ? read : undefined;
  } catch {
    return undefined;
  }
}

function isFunctionTool(value: unknown): value is FunctionTool {
  const tool = value as Partial<FunctionTool> | null;
  return tool?.type === 'function' && typeof tool.function?.name === 'string' && tool.function.name !== '';
}
