// Shows the app of an ended call, once somebody wants to see it.
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useTools } from '../../api/tools.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { Failure, Loading } from '../states.js';
import { AppFrame, type AppFrameHandle } from './app-frame.js';
import { appStrings } from './app-strings.js';
import styles from './tool-app.module.css';

/** Nothing if the tool of this name has no app. */
export function ToolApp({ callId, name }: { callId: string; name: string }) {
  const texts = useStrings(appStrings);
  const { tools } = useTools();
  const [isShown, setShown] = useState(false);
  const frame = useRef<AppFrameHandle>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['apps', callId],
    queryFn: ({ signal }) => api.tools.app(callId, { signal }),
    enabled: isShown,
    staleTime: Infinity,
    gcTime: 0,
  });
  if (tools?.find((tool) => tool.function.name === name)?.app?.shows_results !== true) return null;
  const toggle = async () => {
    if (isShown) await frame.current?.tearDown();
    setShown(!isShown);
  };
  return (
    <div className={styles.app}>
      <Button className={buttons.button} onPress={() => void toggle()}>
        {isShown ? texts.hide : texts.show}
      </Button>
      {isShown &&
        (data !== undefined ? (
          <AppFrame app={data} handle={frame} />
        ) : error === null ? (
          <Loading />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        ))}
    </div>
  );
}
