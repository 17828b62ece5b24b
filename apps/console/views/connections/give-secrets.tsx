// The secrets of a server of kind `headers`. They are in no cache, and are gone with the form.
import { type Connection, SignalboxError } from '@signalbox/client';
import { useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { sentenceOf } from '../../api/failure.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { Dialog, DialogActions } from '../../widgets/dialog.js';
import { Labelled } from '../../widgets/forms/labelled.js';
import fields from '../../widgets/forms/schema-form.module.css';
import { notify } from '../../widgets/notices.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure } from '../../widgets/states.js';
import { connectionsStrings } from './strings.js';
import styles from './connections.module.css';

type Texts = Readonly<Record<string, string>>;

export function GiveSecrets({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { server, names = [] } = connection;
  const texts = useStrings(connectionsStrings);
  const { language } = useLanguage();
  const queries = useQueryClient();
  const [values, setValues] = useState<Texts>({});
  const [problems, setProblems] = useState<Texts>({});
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  async function save(event: SubmitEvent) {
    event.preventDefault();
    const missing = names.filter((name) => (values[name] ?? '') === '');
    setProblems(Object.fromEntries(missing.map((name) => [name, texts.missing])));
    setError(undefined);
    if (missing.length > 0) return;
    setBusy(true);
    try {
      await api.connections.giveHeaders(server, values);
      notify(texts.connectedNow(visibleText(server)));
      void queries.invalidateQueries({ queryKey: ['connections'] });
      onClose();
    } catch (thrown) {
      const field = thrown instanceof SignalboxError ? names.find((name) => name === thrown.param) : undefined;
      if (field === undefined) setError(thrown);
      else setProblems({ [field]: sentenceOf(thrown as SignalboxError, language) });
      setBusy(false);
    }
  }
  return (
    <Dialog heading={texts.secretsHeading(visibleText(server))} isOpen staysOpen onClose={onClose}>
      <form className={styles.form} noValidate onSubmit={(event) => void save(event)}>
        <p>{texts.secretsText}</p>
        {names.map((name) => (
          <Labelled key={name} label={visibleText(name)} isRequired problem={problems[name]}>
            {(field) => (
              <input
                {...field}
                className={fields.input}
                type="password"
                autoComplete="off"
                spellCheck={false}
                value={values[name] ?? ''}
                onChange={({ target }) => setValues({ ...values, [name]: target.value })}
              />
            )}
          </Labelled>
        ))}
        {error !== undefined && <Failure error={error} />}
        <DialogActions>
          <Button className={buttons.button} onPress={onClose}>
            {texts.cancel}
          </Button>
          <Button type="submit" className={`${buttons.button} ${buttons.primary}`} isDisabled={isBusy}>
            {texts.save}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
