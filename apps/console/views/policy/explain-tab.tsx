// What the policy says of a call: the tool from the catalog, its arguments by their schema, who calls. Without the scope admin, oneself.
import type { ExplainedCall } from '@signalbox/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useMay } from '../../api/me.js';
import { useExternal } from '../../api/external-value.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { firstValue, isObject, type Json, type Schema } from '../../widgets/forms/form-schema.js';
import { Labelled } from '../../widgets/forms/labelled.js';
import { SchemaForm } from '../../widgets/forms/schema-form.js';
import fields from '../../widgets/forms/schema-form.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { policyDraft } from '../../widgets/policy/policy-draft.js';
import { Failure } from '../../widgets/states.js';
import { Explanation } from './explanation.js';
import { policyNameOf } from '../../widgets/policy/policy-name.js';
import { policyStrings } from './strings.js';
import styles from './policy.module.css';

const anyArguments: Schema = { type: 'object' };
const nobody = { principal: '', roles: '', key_id: '' };

export function ExplainTab({ isAdmin }: { isAdmin: boolean }) {
  const texts = useStrings(policyStrings);
  const [{ tool = '' }, change] = useFilters(['tool']);
  const mayList = useMay('tools') === true;
  const { data: tools = [] } = useQuery({
    queryKey: ['tools', 'names'],
    queryFn: ({ signal }) => api.tools.list({ signal }),
    enabled: mayList,
  });
  const list = useId();
  const chosen = tools.find((each) => policyNameOf(each) === tool);
  return (
    <div className={styles.columns}>
      <div className={styles.part}>
        <Labelled label={texts.tool} about={texts.toolHint} isRequired>
          {(field) => (
            <input
              {...field}
              className={fields.input}
              list={list}
              autoComplete="off"
              spellCheck={false}
              value={tool}
              onChange={({ target }) => change({ tool: target.value })}
            />
          )}
        </Labelled>
        <datalist id={list}>
          {tools.map((each) => (
            <option key={policyNameOf(each)} value={policyNameOf(each)} />
          ))}
        </datalist>
        <Question
          key={chosen === undefined ? '' : tool}
          tool={tool}
          isAdmin={isAdmin}
          schema={chosen?.function.parameters}
        />
      </div>
    </div>
  );
}

interface QuestionProps {
  tool: string;
  schema: Schema | undefined;
  isAdmin: boolean;
}

function Question({ tool, schema = anyArguments, isAdmin }: QuestionProps) {
  const texts = useStrings(policyStrings);
  const draft = useExternal(policyDraft);
  const [value, setValue] = useState<Json | undefined>(() => firstValue(schema) ?? {});
  const [who, setWho] = useState(nobody);
  const [byDraft, setByDraft] = useState(false);
  const asking = useMutation({ mutationFn: (call: ExplainedCall) => api.operations.policy.explain(call) });
  const given = (text: string) => (text.trim() === '' ? undefined : text.trim());
  const call: ExplainedCall = {
    tool,
    arguments: isObject(value) ? value : {},
    ...(isAdmin && {
      principal: given(who.principal),
      key_id: given(who.key_id),
      roles: given(who.roles)?.split(/[,\s]+/),
      policy: byDraft && draft !== null ? draft : undefined,
    }),
  };
  return (
    <>
      <form
        className={styles.part}
        onSubmit={(event) => {
          event.preventDefault();
          asking.mutate(call);
        }}
      >
        <section aria-label={texts.arguments}>
          <SchemaForm schema={schema} value={value} onChange={setValue} />
        </section>
        {isAdmin && (
          <fieldset className={styles.who}>
            <legend>{texts.caller}</legend>
            {(['principal', 'key_id', 'roles'] as const).map((name) => (
              <Labelled key={name} label={texts[name]}>
                {(field) => (
                  <input
                    {...field}
                    className={fields.input}
                    autoComplete="off"
                    spellCheck={false}
                    value={who[name]}
                    onChange={({ target }) => setWho({ ...who, [name]: target.value })}
                  />
                )}
              </Labelled>
            ))}
            <p className={styles.soft}>{texts.callerHint}</p>
          </fieldset>
        )}
        {isAdmin && draft !== null && (
          <label className={styles.line}>
            <input type="checkbox" checked={byDraft} onChange={({ target }) => setByDraft(target.checked)} />
            {texts.byDraft}
          </label>
        )}
        <div className={styles.line}>
          <Button
            type="submit"
            className={`${buttons.button} ${buttons.primary}`}
            isDisabled={asking.isPending || tool === ''}
          >
            {texts.explain}
          </Button>
        </div>
      </form>
      <div aria-live="polite">
        {asking.error !== null && <Failure error={asking.error} />}
        {asking.data !== undefined && <Explanation explanation={asking.data} isWhole={isAdmin} />}
      </div>
    </>
  );
}
