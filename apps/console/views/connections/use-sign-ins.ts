// Sign-ins that the page has begun, and that end in another tab.
import type { Connection } from '@signalbox/client';
import { useState } from 'react';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import { notify, notifyFailure } from '../../widgets/notices.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { connectionsStrings } from './strings.js';

interface WaitingSignIn {
  address: string;
  until: number;
  /** The connection that was there before. */
  before: string | null;
}

export interface SignIns {
  isWaiting: boolean;
  addressOf(server: string): string | undefined;
  begin(connection: Connection): Promise<void>;
  forget(server: string): void;
  /** Compares with what the gateway says now. */
  note(found: readonly Connection[]): void;
}

export function useSignIns(): SignIns {
  const texts = useStrings(connectionsStrings);
  const [waiting, setWaiting] = useState<Readonly<Record<string, WaitingSignIn>>>({});
  const forget = (server: string) =>
    setWaiting((all) => Object.fromEntries(Object.entries(all).filter(([each]) => each !== server)));
  return {
    isWaiting: Object.keys(waiting).length > 0,
    addressOf: (server) => waiting[server]?.address,
    forget,
    async begin({ server, connected_at: before }) {
      // Opened by the click itself: browsers block tabs that come later. The issuer must not reach this page.
      const tab = window.open('', '_blank');
      if (tab !== null) tab.opener = null;
      try {
        const { authorization_url: address, expires_at: until } = await api.connections.begin(server);
        tab?.location.replace(address);
        setWaiting((all) => ({ ...all, [server]: { address, until: Date.parse(until), before } }));
      } catch (error) {
        tab?.close();
        notifyFailure(error);
      }
    },
    note(found) {
      for (const [server, { before, until }] of Object.entries(waiting)) {
        const now = found.find((each) => each.server === server);
        const isMade = now?.state === 'connected' && now.connected_at !== before;
        if (isMade) notify(texts.connectedNow(visibleText(server)));
        if (isMade || Date.now() > until) forget(server);
      }
    },
  };
}
