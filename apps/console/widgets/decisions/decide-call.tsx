// The actions of a call that waits for a person: Approve, Deny with a reason, Edit with its changes shown before they are sent; and
// the form of what a tool server asks. A sign-in is made elsewhere, and can only be denied here. Only the first decision counts, so whoever comes second learns who decided.
import { SignalboxError, type Approval, type Decision } from '@signalbox/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { type Problems, problemsOf } from '../forms/check-value.js';
import { firstValue, type Json, type JsonObject, type Schema } from '../forms/form-schema.js';
import { Labelled } from '../forms/labelled.js';
import { SchemaForm } from '../forms/schema-form.js';
import fields from '../forms/schema-form.module.css';
import { Failure } from '../states.js';
import { widgetStrings } from '../strings.js';
import { Changes } from './changes.js';
import { decisionStrings } from './decision-strings.js';
import { SignInLink } from './sign-in-link.js';
import styles from './decisions.module.css';

export type DecisionMode = 'choose' | 'deny' | 'edit';

export interface DecideCallProps {
  approval: Pick<Approval, 'id' | 'kind'> & {
    arguments?: object;
    schema?: object | null | undefined;
    server?: string;
    /** Where this person signs in. Absent: somebody else has to. */
    authorization_url?: string | null | undefined;
  };
  /** The schema of the tool's arguments; absent: they are edited as JSON. */
  argumentsSchema?: Schema | undefined;
  /** Which form is open; its owner may open one by a key. */
  mode: DecisionMode;
  onMode: (mode: DecisionMode) => void;
  /** By this person, or by somebody who was faster. */
  onDecided: (decided: Approval, byOthers: boolean) => void;
}

export function DecideCall(props: DecideCallProps) {
  const { approval, mode, onMode } = props;
  const texts = useStrings(decisionStrings);
  const deciding = useDecision(props);
  const actions = { ...props, deciding };
  if (mode === 'deny') return <DenyForm {...actions} />;
  if (approval.kind === 'question') return <AnswerForm {...actions} />;
  if (approval.kind === 'sign_in') return <SignInActions {...actions} />;
  if (mode === 'edit') return <EditForm {...actions} />;
  return (
    <div className={styles.form}>
      <div className={styles.actions}>
        <Button
          className={`${buttons.button} ${buttons.primary}`}
          isDisabled={deciding.isPending}
          onPress={() => deciding.mutate({ decision: 'approve' })}
        >
          {texts.approve}
        </Button>
        <Button
          className={`${buttons.button} ${buttons.danger}`}
          isDisabled={deciding.isPending}
          onPress={() => onMode('deny')}
        >
          {texts.deny}
        </Button>
        <Button className={buttons.button} isDisabled={deciding.isPending} onPress={() => onMode('edit')}>
          {texts.edit}
        </Button>
      </div>
      {deciding.error !== null && <Failure error={deciding.error} />}
    </div>
  );
}

function SignInActions({ approval, deciding, onMode }: FormProps) {
  const texts = useStrings(decisionStrings);
  const { server = '', authorization_url: address } = approval;
  return (
    <div className={styles.actions}>
      {typeof address === 'string' && <SignInLink server={server} address={address} onOpen={() => onMode('choose')} />}
      <Button
        className={`${buttons.button} ${buttons.danger}`}
        isDisabled={deciding.isPending}
        onPress={() => onMode('deny')}
      >
        {texts.deny}
      </Button>
    </div>
  );
}

/** Also for an owner that approves by a key. */
export function useDecision({ approval: { id }, onDecided }: Pick<DecideCallProps, 'approval' | 'onDecided'>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (decision: Decision): Promise<{ decided: Approval; byOthers: boolean }> => {
      try {
        return { decided: await api.approvals.decide(id, decision), byOthers: false };
      } catch (error) {
        if (!(error instanceof SignalboxError) || error.code !== 'approval_already_decided') throw error;
        return { decided: await api.approvals.get(id), byOthers: true };
      }
    },
    onSuccess: ({ decided, byOthers }) => {
      onDecided(decided, byOthers);
      void queries.invalidateQueries({ queryKey: ['approvals'] });
    },
  });
}

interface FormProps extends DecideCallProps {
  deciding: ReturnType<typeof useDecision>;
}

function DenyForm({ approval, deciding, onMode }: FormProps) {
  const texts = useStrings(decisionStrings);
  const { cancel } = useStrings(widgetStrings);
  const [reason, setReason] = useState('');
  const act = approval.kind === 'question' ? texts.decline : texts.deny;
  const send = () => deciding.mutate({ decision: 'deny', ...(reason.trim() === '' ? {} : { reason: reason.trim() }) });
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onMode('choose');
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
      }}
    >
      <Labelled label={texts.reason} about={texts.reasonHint}>
        {(field) => (
          <textarea
            {...field}
            className={fields.input}
            rows={2}
            maxLength={1_000}
            autoFocus
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
        )}
      </Labelled>
      <div className={styles.actions}>
        <Button type="submit" className={`${buttons.button} ${buttons.danger}`} isDisabled={deciding.isPending}>
          {act}
        </Button>
        <Button className={buttons.button} onPress={() => onMode('choose')}>
          {cancel}
        </Button>
      </div>
      {deciding.error !== null && <Failure error={deciding.error} />}
    </form>
  );
}

/** What is typed is checked when it is tried to send, and from then on with every change. */
function useChecked(schema: Schema, first: Json | undefined) {
  const texts = useStrings(widgetStrings);
  const [value, setValue] = useState(first);
  const [wasTried, setTried] = useState(false);
  const problems: Problems = wasTried ? problemsOf(schema, value, texts) : new Map();
  function tried(): JsonObject | undefined {
    setTried(true);
    return problemsOf(schema, value, texts).size === 0 ? (value as JsonObject) : undefined;
  }
  return { value, setValue, problems, tried };
}

function EditForm({ approval, argumentsSchema = { type: 'object' }, deciding, onMode }: FormProps) {
  const texts = useStrings(decisionStrings);
  const { cancel } = useStrings(widgetStrings);
  const before = (approval.arguments ?? {}) as JsonObject;
  const { value, setValue, problems, tried } = useChecked(argumentsSchema, before);
  return (
    <form
      className={styles.form}
      aria-label={texts.editedArguments}
      onSubmit={(event) => {
        event.preventDefault();
        const edited = tried();
        if (edited !== undefined) deciding.mutate({ decision: 'approve', arguments: edited });
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onMode('choose');
      }}
    >
      <div ref={focusFirstField}>
        <SchemaForm schema={argumentsSchema} value={value} onChange={setValue} problems={problems} />
      </div>
      <h4 className={styles.heading}>{texts.changes}</h4>
      <Changes before={before} after={value} />
      <div className={styles.actions}>
        <Button type="submit" className={`${buttons.button} ${buttons.primary}`} isDisabled={deciding.isPending}>
          {texts.approve}
        </Button>
        <Button className={buttons.button} onPress={() => onMode('choose')}>
          {cancel}
        </Button>
      </div>
      {deciding.error !== null && <Failure error={deciding.error} />}
    </form>
  );
}

function AnswerForm({ approval, deciding, onMode }: FormProps) {
  const texts = useStrings(decisionStrings);
  const schema = (approval.schema ?? { type: 'object' }) as Schema;
  const { value, setValue, problems, tried } = useChecked(schema, firstValue(schema) ?? {});
  return (
    <form
      className={styles.form}
      aria-label={texts.answerForm}
      onSubmit={(event) => {
        event.preventDefault();
        const answer = tried();
        if (answer !== undefined) deciding.mutate({ decision: 'approve', arguments: answer });
      }}
    >
      <SchemaForm schema={schema} value={value} onChange={setValue} problems={problems} />
      <div className={styles.actions}>
        <Button type="submit" className={`${buttons.button} ${buttons.primary}`} isDisabled={deciding.isPending}>
          {texts.answer}
        </Button>
        <Button
          className={`${buttons.button} ${buttons.danger}`}
          isDisabled={deciding.isPending}
          onPress={() => onMode('deny')}
        >
          {texts.decline}
        </Button>
      </div>
      {deciding.error !== null && <Failure error={deciding.error} />}
    </form>
  );
}

/** Whoever opens a form by a key goes on to type. */
function focusFirstField(element: HTMLElement | null): void {
  element?.querySelector<HTMLElement>('input, textarea, select')?.focus();
}
