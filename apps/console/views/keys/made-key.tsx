// A key right after it was made: the only time that it is shown. It is in the memory of this dialog alone, unless the person signs
// in with it.
import type { MadeApiKey } from '@signalbox/client';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { keepCredential, signInHeld } from '../../api/credentials.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { Dialog, DialogActions } from '../../widgets/dialog.js';
import { CopyButton } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Tabs } from '../../widgets/tabs.js';
import { keysStrings } from './strings.js';
import styles from './keys.module.css';

export interface NewlyMade {
  made: MadeApiKey;
  /** Whoever uses the page needs this key, or another one, to go on. */
  isNeeded: boolean;
  /** How long the old key works after a rotation, seconds. */
  graceSeconds?: number;
}

export function MadeKey({ shown, onClose }: { shown: NewlyMade; onClose: () => void }) {
  const texts = useStrings(keysStrings);
  const formats = useFormats();
  const queries = useQueryClient();
  const { made, isNeeded, graceSeconds } = shown;
  const maySignIn = isNeeded && made.scopes.includes('admin');
  // A sign-in over this dialog would hide the key.
  useEffect(() => {
    signInHeld.set(true);
    return () => signInHeld.set(false);
  }, []);
  function leave() {
    onClose();
    void queries.invalidateQueries();
  }
  /** The page begins anew, as its new owner. */
  function signIn() {
    keepCredential(made.key);
    location.reload();
  }
  return (
    <Dialog
      heading={graceSeconds === undefined ? texts.madeHeading : texts.rotatedHeading}
      isOpen
      isWide
      staysOpen
      onClose={leave}
    >
      <p>{texts.shownOnce}</p>
      <div className={styles.key} role="group" aria-label={texts.theKey}>
        <code>{made.key}</code>
        <CopyButton text={made.key} label={texts.copyKey} isWorded />
      </div>
      {graceSeconds !== undefined && (
        <p className={styles.soft}>
          {graceSeconds === 0
            ? texts.oldOver
            : texts.oldUntil(formats.time(new Date(new Date(made.created_at).getTime() + graceSeconds * 1_000)))}
        </p>
      )}
      <Tabs
        label={texts.use}
        tabs={waysToUse(made).map(({ name, text }) => ({ id: name, title: name, content: <Block text={text} /> }))}
      />
      {maySignIn && <p className={styles.soft}>{texts.nowNeeded}</p>}
      <DialogActions>
        <Button className={buttons.button} onPress={leave}>
          {texts.done}
        </Button>
        {maySignIn && (
          <Button className={`${buttons.button} ${buttons.primary}`} onPress={signIn}>
            {texts.signInWith}
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

function Block({ text }: { text: string }) {
  return (
    <div className={styles.pre}>
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}

/** Ready to run, with the key in them: those that its scopes allow. */
function waysToUse({ key, scopes }: MadeApiKey): { name: string; text: string }[] {
  const has = (scope: MadeApiKey['scopes'][number]) => scopes.includes(scope);
  const path = has('tools') ? '/api/tools' : has('admin') ? '/api/keys' : '/api/me';
  const hello = `\\\n  -H 'content-type: application/json' \\\n  -d '{"messages": [{"role": "user", "content": "Hello"}]}'`;
  const curl = has('chat') ? `/v1/chat/completions ${hello}` : path;
  const openai = `from openai import OpenAI

client = OpenAI(base_url="${gatewayUrl}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="default",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;
  const headers = { Authorization: `Bearer ${key}` };
  const mcp = { mcpServers: { signalbox: { type: 'http', url: `${gatewayUrl}/mcp`, headers } } };
  return [
    { name: 'curl', text: `curl -H 'authorization: Bearer ${key}' ${gatewayUrl}${curl}` },
    ...(has('chat') ? [{ name: 'OpenAI SDK', text: openai }] : []),
    ...(has('tools') ? [{ name: '.mcp.json', text: JSON.stringify(mcp, null, 2) }] : []),
  ];
}
