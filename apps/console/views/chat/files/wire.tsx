// The events of the last turn as they came.
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api } from '../../../api/api.js';
import { ExternalValue, useExternal } from '../../../api/external-value.js';
import { useStrings } from '../../../i18n/language.js';
import { CopyButton } from '../../../widgets/shown/copy-button.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { isRun, shownPath } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import type { NumberedEvent } from '../store/running-turn.js';
import { useConversation } from '../store/use-chats.js';
import { chatStrings } from '../strings.js';
import styles from './files.module.css';

const mostShown = 1_000;
const glimpseLength = 200;
const none = new ExternalValue(0);

export function Wire({ chat }: { chat: OpenChat }) {
  const running = useExternal(chat.running);
  useExternal(running?.count ?? none);
  if (running !== undefined) return <Events events={running.events} />;
  return <StoredWire chat={chat} />;
}

/** For a turn that this page has not seen: its run has the events for a while. */
function StoredWire({ chat }: { chat: OpenChat }) {
  const last = shownPath(useConversation(chat)).findLast((node) => node.kind === 'turn');
  const runId = last !== undefined && isRun(last) ? last.answer.runId : undefined;
  const { data = [] } = useQuery({
    queryKey: ['runs', runId, 'wire'],
    queryFn: async ({ signal }) => {
      const events: NumberedEvent[] = [];
      for await (const event of api.runs.events(runId!, { signal })) if (event.type !== 'rewind') events.push(event);
      return events;
    },
    enabled: runId !== undefined,
    staleTime: Infinity,
  });
  return <Events events={data} />;
}

function Events({ events }: { events: readonly NumberedEvent[] }) {
  const texts = useStrings(chatStrings);
  if (events.length === 0) return <p className={styles.soft}>{texts.wireEmpty}</p>;
  const shown = events.slice(-mostShown);
  return (
    <div className={styles.wire}>
      <CopyButton text={() => events.map((event) => JSON.stringify(event)).join('\n')} isWorded />
      {shown.length < events.length && <p className={styles.soft}>{texts.wireCut(mostShown)}</p>}
      <ol className={styles.events}>
        {shown.map((event) => (
          <EventLine key={event.n} event={event} />
        ))}
      </ol>
    </div>
  );
}

/** In one line without what every event has: chunks of OpenAI's form repeat it. */
function told(event: NumberedEvent): { glimpse: string; whole: string } {
  const {
    n: _n,
    type: _type,
    id: _id,
    object: _object,
    created: _created,
    model: _model,
    choices: _choices,
    ...own
  } = event;
  return { glimpse: JSON.stringify(own).slice(0, glimpseLength), whole: JSON.stringify(event, null, 2) };
}

function EventLine({ event }: { event: NumberedEvent }) {
  const [isOpen, setOpen] = useState(false);
  const { n, type } = event;
  const { glimpse, whole } = useMemo(() => told(event), [event]);
  return (
    <li className={styles.event}>
      <button type="button" className={styles.line} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className={styles.number}>{n}</span>
        <span className={styles.type}>{type}</span>
        <code className={styles.glimpse}>{visibleText(glimpse)}</code>
      </button>
      {isOpen && <LongText text={whole} isCode />}
    </li>
  );
}
