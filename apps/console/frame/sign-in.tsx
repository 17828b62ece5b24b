// The sign-in: over the page, so that what was typed below it stays. It comes when the gateway refuses a request for want of a key,
// and goes when somebody has signed in.
import { Signalbox, SignalboxError } from '@signalbox/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Dialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { gatewayUrl } from '../api/addresses.js';
import { credential, keepCredential, signInHeld, signInWanted } from '../api/credentials.js';
import { useExternal } from '../api/external-value.js';
import { describeFailure } from '../api/failure.js';
import { meQuery } from '../api/me.js';
import { useLanguage, useStrings } from '../i18n/language.js';
import buttons from '../widgets/button.module.css';
import { Labelled } from '../widgets/forms/labelled.js';
import fields from '../widgets/forms/schema-form.module.css';
import { Command } from '../widgets/shown/copy-button.js';
import styles from './sign-in.module.css';
import { signInAt } from './oidc.js';
import { frameStrings } from './strings.js';

/** Who a key or token is of. The page's own client would take a refusal for the end of the present sign-in. */
const whoHas = (key: string | undefined) =>
  new Signalbox({ baseUrl: gatewayUrl, maxRetries: 0, apiKey: () => key }).operations.me();

export function SignIn() {
  const { data: me } = useQuery(meQuery);
  const wanted = useExternal(signInWanted);
  const held = useExternal(signInHeld);
  const nobody = me !== undefined && me.signed_in === null;
  // Who is signed in may look away: with another key than this one a view might be seen, or not.
  const mayLeave = me !== undefined && !nobody;
  return (
    <ModalOverlay
      className={styles.veil}
      isOpen={(wanted || nobody) && !held}
      isDismissable={false}
      isKeyboardDismissDisabled={!mayLeave}
      onOpenChange={(isOpen) => mayLeave && signInWanted.set(isOpen)}
    >
      <Modal className={styles.modal}>
        <SignInForm
          principal={me?.principal ?? undefined}
          onLeave={mayLeave ? () => signInWanted.set(false) : undefined}
        />
      </Modal>
    </ModalOverlay>
  );
}

function SignInForm({ principal, onLeave }: { principal: string | undefined; onLeave: (() => void) | undefined }) {
  const texts = useStrings(frameStrings);
  const [key, setKey] = useState('');
  const leaving = useRef(new AbortController());
  const ways = useQuery({ queryKey: ['sign-in'], queryFn: () => whoHas(undefined), staleTime: 0 });
  const enter = useMutation({
    mutationFn: async (found: string) => ({ found, who: await whoHas(found) }),
    onSuccess({ found, who }) {
      keepCredential(found);
      // What the page holds of somebody else goes.
      if (principal !== undefined && who.principal !== principal) location.reload();
    },
  });
  const oidc = ways.data?.sign_in.oidc;
  const atIssuer = useMutation({
    mutationFn: () => signInAt(oidc!, leaving.current.signal),
    onSuccess: (token) => enter.mutate(token),
  });
  function submit(event: SubmitEvent) {
    event.preventDefault();
    if (key.trim() !== '') enter.mutate(key.trim());
  }
  const { language } = useLanguage();
  const refused = enter.error instanceof SignalboxError && enter.error.status === 401;
  const problem =
    enter.error === null ? undefined : refused ? texts.keyRefused : describeFailure(enter.error, language).sentence;
  return (
    <Dialog className={styles.dialog}>
      <Heading slot="title" level={2}>
        {texts.signIn}
      </Heading>
      {oidc !== undefined && (
        <>
          <Button
            className={`${buttons.button} ${buttons.primary}`}
            isDisabled={atIssuer.isPending}
            onPress={() => atIssuer.mutate()}
          >
            {texts.signInOidc(new URL(oidc.issuer).host)}
          </Button>
          {atIssuer.error !== null && (
            <p className={fields.problem} role="alert">
              {texts.oidcFailed(atIssuer.error.message)}
            </p>
          )}
          <p className={styles.or}>{texts.or}</p>
        </>
      )}
      <form className={styles.form} onSubmit={submit}>
        <p className={fields.about}>{texts.signInHint}</p>
        <Labelled label={texts.apiKey} problem={problem}>
          {(field) => (
            <input
              {...field}
              className={fields.input}
              type="password"
              autoComplete="off"
              // A dialog that asks for one thing puts the cursor there.
              autoFocus={oidc === undefined}
              value={key}
              onChange={({ target }) => setKey(target.value)}
            />
          )}
        </Labelled>
        <div className={styles.actions}>
          {onLeave !== undefined && credential.get() !== undefined && (
            <Button className={buttons.button} onPress={onLeave}>
              {texts.cancel}
            </Button>
          )}
          <Button
            className={`${buttons.button} ${oidc === undefined ? buttons.primary : ''}`}
            type="submit"
            isDisabled={enter.isPending}
          >
            {texts.signIn}
          </Button>
        </div>
        <p className={fields.about}>{texts.firstKeyCommand}</p>
        <Command text="npx signalbox keys create --owner NAME --scopes chat,tools,files" />
      </form>
    </Dialog>
  );
}
