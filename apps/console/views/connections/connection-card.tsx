// One tool server: how the connection stands, and what can be done about it.
import type { Connection } from '@signalbox/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { ConfirmDialog } from '../../widgets/dialog.js';
import { notify, notifyFailure } from '../../widgets/notices.js';
import { Badge } from '../../widgets/shown/badge.js';
import { Fact, Facts } from '../../widgets/shown/facts.js';
import type { Tone } from '../../widgets/shown/state-words.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { GiveSecrets } from './give-secrets.js';
import { connectionsStrings } from './strings.js';
import type { SignIns } from './use-sign-ins.js';
import styles from './connections.module.css';

const tones: Readonly<Record<Connection['state'], Tone>> = {
  connected: 'good',
  needed: 'neutral',
  expired: 'warn',
  error: 'bad',
};

export function ConnectionCard({ connection, signIns }: { connection: Connection; signIns: SignIns }) {
  const texts = useStrings(connectionsStrings);
  const id = useId();
  const { server, state, wanted_scopes: wanted = [] } = connection;
  // Its connection is made by the calls themselves.
  const isExchanged = connection.kind === 'token_exchange';
  const address = signIns.addressOf(server);
  return (
    <article className={styles.card} aria-labelledby={id}>
      <header className={styles.head}>
        <h2 id={id}>{visibleText(server)}</h2>
        <Badge tone={tones[state]}>{texts[state]}</Badge>
        <div className={styles.actions}>
          {!isExchanged && <Connect connection={connection} signIns={signIns} />}
          {!isExchanged && connection.connected_at !== null && <Disconnect server={server} />}
        </div>
      </header>
      {address !== undefined && (
        <div className={styles.waiting} role="status">
          <span>{texts.waiting}</span>
          <a href={address} target="_blank" rel="noopener">
            {texts.open}
          </a>
          <Button className={`${buttons.button} ${buttons.quiet}`} onPress={() => signIns.forget(server)}>
            {texts.stop}
          </Button>
        </div>
      )}
      {state === 'connected' && wanted.length > 0 && (
        <p className={styles.warning}>{texts.wanted(wanted.map(visibleText).join(', '))}</p>
      )}
      <About connection={connection} />
    </article>
  );
}

function About({ connection }: { connection: Connection }) {
  const texts = useStrings(connectionsStrings);
  const { kind, state, account, scopes, names, connected_at: since, expires_at: expires } = connection;
  const isExchanged = kind === 'token_exchange';
  if (isExchanged && state !== 'connected') return <p className={styles.soft}>{texts.exchangedText}</p>;
  if (state === 'needed') {
    return <p className={styles.soft}>{kind === 'headers' ? texts.neededValues : texts.neededText}</p>;
  }
  return (
    <>
      {state === 'expired' && <p className={styles.warning}>{texts.expiredText}</p>}
      {state === 'error' && <p className={styles.trouble}>{texts.errorText}</p>}
      <Facts>
        {account !== undefined && <Fact name={texts.account}>{visibleText(account)}</Fact>}
        {scopes.length > 0 && <Fact name={texts.scopes}>{scopes.map(visibleText).join(', ')}</Fact>}
        {names !== undefined && <Fact name={texts.headers}>{names.map(visibleText).join(', ')}</Fact>}
        {since !== null && (
          <Fact name={texts.since}>
            <TimeAgo time={since} />
          </Fact>
        )}
        {expires !== undefined && (
          <Fact name={texts.expires}>
            <TimeAgo time={expires} />
          </Fact>
        )}
      </Facts>
    </>
  );
}

function Connect({ connection, signIns }: { connection: Connection; signIns: SignIns }) {
  const texts = useStrings(connectionsStrings);
  const [isTyping, setTyping] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const { server, kind, state, wanted_scopes: wanted = [] } = connection;
  const name = visibleText(server);
  // There is nothing more to do about one that is whole.
  const look = state === 'connected' && wanted.length === 0 ? '' : ` ${buttons.primary}`;
  if (kind === 'headers') {
    const [label, long] = state === 'needed' ? [texts.enter, texts.enterFor] : [texts.replace, texts.replaceFor];
    return (
      <>
        <Button className={buttons.button + look} aria-label={long(name)} onPress={() => setTyping(true)}>
          {label}
        </Button>
        {isTyping && <GiveSecrets connection={connection} onClose={() => setTyping(false)} />}
      </>
    );
  }
  const [label, long] = state === 'needed' ? [texts.connect, texts.connectTo] : [texts.again, texts.againAt];
  return (
    <Button
      className={buttons.button + look}
      aria-label={long(name)}
      isDisabled={isBusy}
      onPress={() => {
        setBusy(true);
        void signIns.begin(connection).finally(() => setBusy(false));
      }}
    >
      {label}
    </Button>
  );
}

function Disconnect({ server }: { server: string }) {
  const texts = useStrings(connectionsStrings);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const name = visibleText(server);
  const ending = useMutation({
    mutationFn: () => api.connections.end(server),
    onSuccess: () => notify(texts.disconnectedNow(name)),
    onError: notifyFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: ['connections'] }),
  });
  return (
    <>
      <Button
        className={`${buttons.button} ${buttons.danger}`}
        aria-label={texts.disconnectFrom(name)}
        isDisabled={ending.isPending}
        onPress={() => setAsking(true)}
      >
        {texts.disconnect}
      </Button>
      <ConfirmDialog
        heading={texts.disconnectAsk(name)}
        text={texts.disconnectText}
        action={texts.disconnect}
        isOpen={isAsking}
        onConfirm={() => ending.mutate()}
        onClose={() => setAsking(false)}
      />
    </>
  );
}
