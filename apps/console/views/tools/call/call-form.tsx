// Calls a tool: its arguments by their schema, the verdict of the policy before, and what becomes of the call.
import type { JsonObject, Tool, ToolCallBody } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { problemsOf } from '../../../widgets/forms/check-value.js';
import { firstValue, isObject, type Json, type Schema } from '../../../widgets/forms/form-schema.js';
import { Labelled } from '../../../widgets/forms/labelled.js';
import { SchemaForm } from '../../../widgets/forms/schema-form.js';
import fields from '../../../widgets/forms/schema-form.module.css';
import { SignInLink } from '../../../widgets/decisions/sign-in-link.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { CopyButton } from '../../../widgets/shown/copy-button.js';
import { Failure, Notice } from '../../../widgets/states.js';
import { widgetStrings } from '../../../widgets/strings.js';
import { toolsStrings } from '../strings.js';
import { Verdict } from '../verdict.js';
import { asCurl } from './as-curl.js';
import { CallResult } from './call-result.js';
import { type CallState, useToolCall } from './use-tool-call.js';
import styles from '../tools.module.css';

export function CallForm({ tool }: { tool: Tool }) {
  const texts = useStrings(toolsStrings);
  const words = useStrings(widgetStrings);
  const schema: Schema = tool.function.parameters;
  const [value, setValue] = useState<Json | undefined>(() => firstValue(schema) ?? {});
  const [session, setSession] = useState('');
  const [wasTried, setTried] = useState(false);
  const { now, start, stop } = useToolCall();
  const problems = problemsOf(schema, value, words);
  const call: ToolCallBody = {
    name: tool.function.name,
    arguments: isObject(value) ? value : {},
    ...(session.trim() === '' ? {} : { session_id: session.trim() }),
  };
  const isUnderWay = now.state === 'running' || now.state === 'waiting';
  return (
    <section aria-label={texts.callHeading} className={styles.call}>
      <h3>{texts.callHeading}</h3>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (problems.size === 0 && !isUnderWay) start(call);
        }}
      >
        <SchemaForm schema={schema} value={value} onChange={setValue} problems={wasTried ? problems : undefined} />
        <Labelled label={texts.session} about={texts.sessionHint}>
          {(field) => (
            <input
              {...field}
              className={fields.input}
              autoComplete="off"
              value={session}
              onChange={({ target }) => setSession(target.value)}
            />
          )}
        </Labelled>
        <Verdict tool={tool} given={call.arguments as JsonObject} />
        <div className={styles.actions}>
          <Button type="submit" className={`${buttons.button} ${buttons.primary}`} isDisabled={isUnderWay}>
            {texts.call}
          </Button>
          {isUnderWay && (
            <Button className={buttons.button} onPress={stop}>
              {texts.stop}
            </Button>
          )}
          <CopyButton text={() => asCurl(call)} label={texts.copyCurl} isWorded />
        </div>
      </form>
      <Course now={now} />
    </section>
  );
}

function Course({ now }: { now: CallState }) {
  const texts = useStrings(toolsStrings);
  switch (now.state) {
    case 'idle':
      return null;
    case 'running':
      return <Running {...now} />;
    case 'waiting':
      return (
        <div role="status">
          <Notice text={texts.waits}>
            <Link className={buttons.button} to="/approvals/{-$id}" params={{ id: now.approval.id }} target="_blank">
              {texts.openApproval}
            </Link>
          </Notice>
        </div>
      );
    case 'refused':
      return (
        <div role="status">
          <Notice heading={texts.refused} text={now.approval.decision_reason ?? ''}>
            <Link className={buttons.button} to="/approvals/{-$id}" params={{ id: now.approval.id }}>
              {texts.openApproval}
            </Link>
          </Notice>
        </div>
      );
    case 'ended':
      return <CallResult result={now.result} />;
    case 'failed':
      return <Failure error={now.error} />;
  }
}

function Running({ progress, question, signIn }: Extract<CallState, { state: 'running' }>) {
  const texts = useStrings(toolsStrings);
  const { total, progress: done, message, status } = progress ?? {};
  const words = message ?? (status === 'running' ? texts.running : texts.queued);
  return (
    <div role="status" className={styles.running}>
      {signIn !== undefined && (
        <>
          <span>{texts.needsSignIn(visibleText(signIn.server))}</span>
          <SignInLink server={signIn.server} address={signIn.authorization_url} />
        </>
      )}
      {question === undefined && signIn === undefined && (
        <>
          <span>{words}</span>
          <progress
            aria-label={words}
            {...(done === undefined || total === undefined ? {} : { value: done, max: total })}
          />
        </>
      )}
      {question !== undefined && (
        <>
          <span>
            {texts.asked} {question.message ?? ''}
          </span>
          <Link className={buttons.button} to="/approvals/{-$id}" params={{ id: question.id }} target="_blank">
            {texts.openApproval}
          </Link>
        </>
      )}
    </div>
  );
}
