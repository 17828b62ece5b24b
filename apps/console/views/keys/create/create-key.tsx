// The form of a new key. What the gateway refuses is said at its field; what was typed stays.
import { type MadeApiKey, SignalboxError } from '@signalbox/client';
import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { sentenceOf } from '../../../api/failure.js';
import { useMe } from '../../../api/me.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Dialog, DialogActions } from '../../../widgets/dialog.js';
import { Labelled } from '../../../widgets/forms/labelled.js';
import fields from '../../../widgets/forms/schema-form.module.css';
import { Failure } from '../../../widgets/states.js';
import { widgetStrings } from '../../../widgets/strings.js';
import styles from '../keys.module.css';
import { keysStrings } from '../strings.js';
import {
  emptyKey,
  fieldOf,
  globsOf,
  type KeyProblems,
  type KeyScope,
  keyScopes,
  type KeyValues,
  readKey,
  type TypedField,
} from './key-values.js';
import { MatchingModels, MatchingTools } from './matching.js';

export interface CreateKeyProps {
  onMade: (made: MadeApiKey) => void;
  onClose: () => void;
}

export function CreateKey({ onMade, onClose }: CreateKeyProps) {
  const texts = useStrings(keysStrings);
  const common = useStrings(widgetStrings);
  const { language } = useLanguage();
  const isFirst = useMe()?.sign_in.open === true;
  const form = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState<KeyValues>(isFirst ? { ...emptyKey, scopes: keyScopes } : emptyKey);
  const [problems, setProblems] = useState<KeyProblems>({});
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const { typed, scopes, expiry } = values;

  // What is wrong first is where the cursor goes.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [problems]);

  // The answer has the key itself, so it passes no cache.
  async function submit(event: SubmitEvent) {
    event.preventDefault();
    const read = readKey(values, { ...common, noScope: texts.noScope });
    setProblems(read.problems);
    setError(undefined);
    if (Object.keys(read.problems).length > 0) return;
    setBusy(true);
    try {
      onMade(await api.operations.createKey(read.key));
    } catch (thrown) {
      const field = thrown instanceof SignalboxError ? fieldOf(thrown.param) : undefined;
      if (field === undefined) setError(thrown);
      else setProblems({ [field]: sentenceOf(thrown as SignalboxError, language) });
      setBusy(false);
    }
  }

  const set = (name: TypedField, text: string) => setValues({ ...values, typed: { ...typed, [name]: text } });
  const field = (
    name: TypedField,
    label: string,
    more: { about?: string; rows?: number; isRequired?: boolean } = {},
  ) => {
    const { rows, ...frame } = more;
    return (
      <Labelled label={label} {...frame} problem={problems[name]}>
        {(attributes) => {
          const shared = { ...attributes, className: fields.input, value: typed[name] ?? '', autoComplete: 'off' };
          return rows === undefined ? (
            <input {...shared} onChange={({ target }) => set(name, target.value)} />
          ) : (
            <textarea {...shared} rows={rows} onChange={({ target }) => set(name, target.value)} />
          );
        }}
      </Labelled>
    );
  };
  const choose = (scope: KeyScope, isChosen: boolean) =>
    setValues({ ...values, scopes: keyScopes.filter((each) => (each === scope ? isChosen : scopes.includes(each))) });
  return (
    <Dialog heading={texts.createHeading} isOpen isWide staysOpen onClose={onClose}>
      <form ref={form} className={styles.form} noValidate onSubmit={(event) => void submit(event)}>
        {isFirst && <FirstKey hasAdmin={scopes.includes('admin')} />}
        <fieldset className={styles.section}>
          <legend>{texts.who}</legend>
          <div className={styles.columns}>
            {field('owner', texts.owner, { about: texts.ownerHint, isRequired: true })}
            {field('name', texts.name, { about: texts.nameHint })}
          </div>
          {field('roles', texts.roles, { about: texts.rolesHint })}
        </fieldset>
        <fieldset className={styles.section}>
          <legend>{texts.what}</legend>
          {keyScopes.map((scope) => (
            <div key={scope} className={styles.scope}>
              <input
                type="checkbox"
                id={`scope-${scope}`}
                aria-describedby={`about-${scope}`}
                aria-invalid={problems.scopes !== undefined}
                checked={scopes.includes(scope)}
                onChange={({ target }) => choose(scope, target.checked)}
              />
              <label htmlFor={`scope-${scope}`}>
                <code>{scope}</code>
              </label>
              <span id={`about-${scope}`} className={styles.soft}>
                {texts[`${scope}Scope`]}
              </span>
            </div>
          ))}
          {problems.scopes !== undefined && <p className={fields.problem}>{problems.scopes}</p>}
        </fieldset>
        <fieldset className={styles.section}>
          <legend>{texts.reach}</legend>
          {field('models', texts.modelsField, { about: texts.modelsHint, rows: 2 })}
          <MatchingModels allow={globsOf(typed.models)} />
          <div className={styles.columns}>
            {field('tools.allow', texts.allowField, { about: texts.allowHint, rows: 2 })}
            {field('tools.deny', texts.denyField, { about: texts.denyHint, rows: 2 })}
          </div>
          <MatchingTools allow={globsOf(typed['tools.allow'])} deny={globsOf(typed['tools.deny'])} />
        </fieldset>
        <fieldset className={styles.section}>
          <legend>{texts.limits}</legend>
          <div className={styles.columns}>
            {field('limits.requests_per_minute', texts.requestsField, { about: texts.limitsHint })}
            {field('limits.tokens_per_minute', texts.tokensField)}
            {field('limits.turns', texts.turnsField)}
          </div>
        </fieldset>
        <fieldset className={styles.section}>
          <legend>{texts.budgets}</legend>
          <div className={styles.columns}>
            {field('budgets.day_usd', texts.dayField, { about: texts.limitsHint })}
            {field('budgets.month_usd', texts.monthField)}
          </div>
        </fieldset>
        <fieldset className={styles.section}>
          <legend>{texts.expires}</legend>
          <div className={styles.columns}>
            <Labelled label={texts.expiry} problem={expiry === 'date' ? undefined : problems.expires_at}>
              {(attributes) => (
                <select
                  {...attributes}
                  className={fields.input}
                  value={expiry}
                  onChange={({ target }) => setValues({ ...values, expiry: target.value })}
                >
                  <option value="never">{texts.expiryNever}</option>
                  {[7, 30, 90].map((days) => (
                    <option key={days} value={days}>
                      {texts.expiryDays(days)}
                    </option>
                  ))}
                  <option value="365">{texts.expiryYear}</option>
                  <option value="date">{texts.expiryDate}</option>
                </select>
              )}
            </Labelled>
            {expiry === 'date' && (
              <Labelled label={texts.lastDay} problem={problems.expires_at}>
                {(attributes) => (
                  <input
                    {...attributes}
                    className={fields.input}
                    type="date"
                    value={typed.expires_at ?? ''}
                    onChange={({ target }) => set('expires_at', target.value)}
                  />
                )}
              </Labelled>
            )}
          </div>
        </fieldset>
        {error !== undefined && <Failure error={error} />}
        <DialogActions>
          <Button className={buttons.button} onPress={onClose}>
            {texts.cancel}
          </Button>
          <Button className={`${buttons.button} ${buttons.primary}`} type="submit" isDisabled={isBusy}>
            {texts.make}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function FirstKey({ hasAdmin }: { hasAdmin: boolean }) {
  const texts = useStrings(keysStrings);
  return (
    <div className={styles.warning} role="status">
      <p>{texts.firstKey}</p>
      {!hasAdmin && <p>{texts.firstKeyNoAdmin}</p>}
    </div>
  );
}
