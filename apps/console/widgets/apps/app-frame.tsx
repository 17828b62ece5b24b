// The frame in which an app of a tool server runs: a page of the gateway without an origin, which gets the app's HTML by message.
// Neither the key nor anything else of this page can be reached from within it.
import type { ShownApp } from '@signalbox/client';
import { type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { theme } from '../../frame/theme.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { visibleText } from '../shown/visible-text.js';
import { AppHost, type AppTheme } from './app-host.js';
import { appStrings } from './app-strings.js';
import styles from './tool-app.module.css';

export interface AppFrameHandle {
  tearDown(): Promise<void>;
}

interface LinkQuestion {
  url: URL;
  answer: (isAllowed: boolean) => void;
}

const leastHeight = 40;
const mostHeight = 800;
const systemDark = matchMedia('(prefers-color-scheme: dark)');

const themeNow = (): AppTheme => {
  const chosen = theme.get();
  return chosen === 'system' ? (systemDark.matches ? 'dark' : 'light') : chosen;
};

export function AppFrame({ app, handle }: { app: ShownApp; handle: Ref<AppFrameHandle> }) {
  const texts = useStrings(appStrings);
  const frame = useRef<HTMLIFrameElement>(null);
  const host = useRef<AppHost>(null);
  const [question, setQuestion] = useState<LinkQuestion>();
  useImperativeHandle(handle, () => ({ tearDown: async () => host.current?.tearDown() }), []);
  useEffect(() => {
    // A frame without an origin has none that a message could name.
    const send = (message: object) => frame.current?.contentWindow?.postMessage(message, '*');
    let isGiven = false;
    const shown = new AppHost({
      app,
      send,
      theme: themeNow,
      onHeight: (pixels) => {
        const height = Math.min(Math.max(Math.ceil(pixels), leastHeight), mostHeight);
        if (frame.current !== null && Number.isFinite(height)) frame.current.style.height = `${height}px`;
      },
      mayOpen: (url) =>
        new Promise((resolve) => {
          const answer = (isAllowed: boolean) => {
            setQuestion(undefined);
            resolve(isAllowed);
          };
          setQuestion({ url, answer });
        }),
    });
    host.current = shown;
    const take = ({ source, data }: MessageEvent) => {
      if (source === null || source !== frame.current?.contentWindow) return;
      if (isGiven) shown.take(data);
      else if (data === 'frame-ready') {
        isGiven = true;
        send({ html: app.html });
      }
    };
    const onTheme = () => shown.themeChanged();
    addEventListener('message', take);
    systemDark.addEventListener('change', onTheme);
    const unfollow = theme.follow(onTheme);
    return () => {
      removeEventListener('message', take);
      systemDark.removeEventListener('change', onTheme);
      unfollow();
      shown.close();
    };
  }, [app]);
  return (
    <>
      <iframe
        ref={frame}
        className={styles.frame}
        title={texts.app(visibleText(app.tool.name))}
        src={`${gatewayUrl}/${app.frame}`}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
      />
      {question !== undefined && (
        <div className={styles.link} role="alert">
          <span>{texts.asksLink}</span>
          <code>{visibleText(question.url.href)}</code>
          <Button
            className={buttons.button}
            onPress={() => {
              open(question.url, '_blank', 'noopener,noreferrer');
              question.answer(true);
            }}
          >
            {texts.open}
          </Button>
          <Button className={buttons.button} onPress={() => question.answer(false)}>
            {texts.refuse}
          </Button>
        </div>
      )}
    </>
  );
}
