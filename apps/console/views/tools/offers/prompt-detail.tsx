// One prompt: its arguments, for which its server may propose values, and the messages that it becomes.
import type { OfferedPrompt } from '@signalbox/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Labelled } from '../../../widgets/forms/labelled.js';
import fields from '../../../widgets/forms/schema-form.module.css';
import { Badge } from '../../../widgets/shown/badge.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure } from '../../../widgets/states.js';
import { useSettled } from '../../../widgets/use-settled.js';
import { ResultBlock } from '../call/call-result.js';
import { UseInChat } from './use-in-chat.js';
import { offerStrings } from './offer-strings.js';
import styles from '../tools.module.css';

type Argument = NonNullable<OfferedPrompt['arguments']>[number];
type Values = Record<string, string>;

export function PromptDetail({ prompt }: { prompt: OfferedPrompt }) {
  const texts = useStrings(offerStrings);
  const [values, setValues] = useState<Values>({});
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const got = useMutation({
    mutationFn: (given: Values) => {
      running.current = new AbortController();
      const { name, server } = prompt;
      return api.offers.prompt({ name, server, arguments: given }, { signal: running.current.signal });
    },
  });
  const args = prompt.arguments ?? [];
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const isWhole = args.every(({ name, required }) => required !== true || given[name] !== undefined);
  return (
    <div className={styles.detail}>
      <p className={styles.badges}>
        <Badge>{visibleText(prompt.server)}</Badge>
      </p>
      {prompt.title !== undefined && <h3>{visibleText(prompt.title)}</h3>}
      {prompt.description !== undefined && <LongText text={prompt.description} />}
      <section aria-label={texts.getHeading} className={styles.call}>
        <h3>{texts.getHeading}</h3>
        <form
          className={styles.form}
          onSubmit={(event) => {
            event.preventDefault();
            if (isWhole && !got.isPending) got.mutate(given);
          }}
        >
          {args.map((argument) => (
            <ArgumentField
              key={argument.name}
              prompt={prompt}
              argument={argument}
              values={given}
              onChange={(value) => setValues((now) => ({ ...now, [argument.name]: value }))}
            />
          ))}
          <div className={styles.actions}>
            <Button
              type="submit"
              className={`${buttons.button} ${buttons.primary}`}
              isDisabled={!isWhole || got.isPending}
            >
              {texts.get}
            </Button>
            {isWhole && (
              <UseInChat offer={{ type: 'mcp_prompt', name: prompt.name, server: prompt.server, arguments: given }} />
            )}
            {!isWhole && <span className={styles.soft}>{texts.required}</span>}
          </div>
        </form>
        {got.isError && <Failure error={got.error} />}
        {got.isSuccess && (
          <section aria-label={texts.promptResult} className={styles.result} role="status">
            {got.data.messages.map(({ role, content }, at) => (
              <div key={at}>
                <p className={styles.soft}>{role === 'user' ? texts.user : texts.assistant}</p>
                <ResultBlock block={content} />
              </div>
            ))}
          </section>
        )}
      </section>
    </div>
  );
}

interface ArgumentFieldProps {
  prompt: OfferedPrompt;
  argument: Argument;
  values: Values;
  onChange: (value: string) => void;
}

/** Proposals are asked for when the typing pauses. A server that has none leaves a plain field. */
function ArgumentField({ prompt: { name, server }, argument, values, onChange }: ArgumentFieldProps) {
  const listId = useId();
  const [isUsed, setUsed] = useState(false);
  const value = values[argument.name] ?? '';
  const settled = useSettled(value);
  const { data } = useQuery({
    queryKey: ['offers', 'complete', server, name, argument.name, settled],
    queryFn: ({ signal }) =>
      api.offers.complete(
        {
          ref: { type: 'prompt', name },
          server,
          argument: { name: argument.name, value: settled },
          arguments: Object.fromEntries(Object.entries(values).filter(([each]) => each !== argument.name)),
        },
        { signal },
      ),
    enabled: isUsed,
    retry: false,
  });
  return (
    <Labelled
      label={visibleText(argument.name)}
      about={argument.description === undefined ? undefined : visibleText(argument.description)}
      isRequired={argument.required === true}
    >
      {(field) => (
        <>
          <input
            {...field}
            className={fields.input}
            autoComplete="off"
            list={listId}
            value={value}
            onFocus={() => setUsed(true)}
            onChange={({ target }) => onChange(target.value)}
          />
          <datalist id={listId}>
            {data?.values.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
    </Labelled>
  );
}
