// A run as the gateway has it, or as a file has it. A run that goes on is joined: its events come as they happen, and what they change
// is asked again.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ChatEvent, RunDetails } from '@signalbox/client';
import { useEffect, useState } from 'react';
import { api, gatewayAway } from '../../../api/api.js';
import { useExternal } from '../../../api/external-value.js';
import { openedRuns } from '../file/run-file.js';
import { isGoing } from '../run-words.js';
import { LiveEvents, type RunEvent } from './live-events.js';

/** How often the list of events is drawn, and what they changed is asked. */
const drawMs = 150;
const askMs = 700;
/** The times of what runs go on without events. */
const lookMs = 5_000;

export interface ShownRun {
  run: RunDetails | undefined;
  events: readonly RunEvent[] | undefined;
  isLive: boolean;
  isFile: boolean;
  error: unknown;
  reload: () => void;
}

/** Nothing is asked for an empty id. */
export function useRun(id: string, options: { isFile: boolean; needsEvents: boolean }): ShownRun {
  const files = useExternal(openedRuns);
  const queries = useQueryClient();
  const details = useQuery({
    queryKey: ['runs', id, 'details'],
    queryFn: ({ signal }) => api.runs.get(id, { include: ['rounds', 'calls'], signal }),
    enabled: !options.isFile && id !== '',
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isGoing(data.state) ? lookMs : false),
  });
  const run = details.data?.id === id ? details.data : undefined;
  const going = !options.isFile && run !== undefined && isGoing(run.state);
  const live = useLiveEvents(id, going, () => void queries.invalidateQueries({ queryKey: ['runs', id, 'details'] }));
  const stored = useQuery({
    queryKey: ['runs', id, 'events'],
    queryFn: ({ signal }) => api.runs.get(id, { include: ['events'], signal }),
    enabled: !options.isFile && run !== undefined && live === undefined && options.needsEvents,
  });
  if (options.isFile) {
    const opened = files.find((file) => file.id === id);
    const events = opened?.event_list as readonly RunEvent[] | undefined;
    return { run: opened, events, isLive: false, isFile: true, error: null, reload: () => undefined };
  }
  return {
    run,
    events: live ?? (stored.data?.event_list as readonly RunEvent[] | undefined),
    isLive: live !== undefined,
    isFile: false,
    error: details.error ?? stored.error,
    reload: () => void queries.invalidateQueries({ queryKey: ['runs', id] }),
  };
}

/** Undefined while the run is not followed. */
function useLiveEvents(id: string, going: boolean, changed: () => void): readonly RunEvent[] | undefined {
  const isAway = useExternal(gatewayAway);
  const queries = useQueryClient();
  const [events, setEvents] = useState<readonly RunEvent[]>();
  useEffect(() => {
    if (!going || isAway) return undefined;
    const leaving = new AbortController();
    const known = new LiveEvents();
    const draw = delayed(() => setEvents(known.list()), drawMs);
    const ask = delayed(changed, askMs);
    async function follow() {
      for await (const event of api.runs.events(id, { signal: leaving.signal })) {
        known.add(event);
        draw.soon();
        if (changesMore(event)) ask.soon();
      }
    }
    // The last of a run is asked again as a whole; a stream that broke off tells nothing that the page does not ask anyway.
    const end = () => {
      if (leaving.signal.aborted) return;
      draw.leave();
      ask.leave();
      setEvents(undefined);
      void queries.invalidateQueries({ queryKey: ['runs', id] });
    };
    follow().then(end, end);
    return () => {
      leaving.abort();
      draw.leave();
      ask.leave();
      setEvents(undefined);
    };
  }, [id, going, isAway]);
  return events;
}

const changesMore = ({ type }: ChatEvent): boolean =>
  type !== 'content' && type !== 'reasoning' && type !== 'tool_call';

function delayed(run: () => void, ms: number): { soon: () => void; leave: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    soon() {
      timer ??= setTimeout(() => {
        timer = undefined;
        run();
      }, ms);
    },
    leave: () => clearTimeout(timer),
  };
}
