// Asks what a replay shall change, starts it, and leads to its run.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type RunDetails, SignalboxError } from '@signalbox/client';
import { type FormEvent, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { describeFailure } from '../../../api/failure.js';
import { useMay } from '../../../api/me.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { DraftProblems } from '../../../widgets/policy/draft-problems.js';
import { Dialog, DialogActions } from '../../../widgets/dialog.js';
import { isSame } from '../../../widgets/forms/check-value.js';
import type { Json } from '../../../widgets/forms/form-schema.js';
import { JsonField } from '../../../widgets/forms/json-field.js';
import { Labelled } from '../../../widgets/forms/labelled.js';
import forms from '../../../widgets/forms/schema-form.module.css';
import { askedMessages, lastText, withLastText } from './edited-messages.js';
import { replayStrings } from './replay-strings.js';
import styles from './replay.module.css';

export function ReplayRun({ run }: { run: RunDetails }) {
  const texts = useStrings(replayStrings);
  const may = useMay('chat') === true;
  const [isOpen, setOpen] = useState(false);
  // For one tool call no model was asked.
  const request = run.request as { call?: unknown } | undefined;
  if (!may || request?.call !== undefined) return null;
  return (
    <>
      <Button className={`${buttons.button} ${buttons.primary}`} onPress={() => setOpen(true)}>
        {texts.replay}
      </Button>
      <Dialog heading={texts.heading} isOpen={isOpen} onClose={() => setOpen(false)} isWide>
        <ReplayForm run={run} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ReplayForm({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const texts = useStrings(replayStrings);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asked] = useState(() => askedMessages(run));
  const [base, setBase] = useState(asked);
  const [text, setText] = useState(lastText(asked) ?? '');
  const [messages, setMessages] = useState<Json | undefined>(asked);
  const [isWhole, setWhole] = useState(false);
  const [model, setModel] = useState('');
  const [policy, setPolicy] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const isConversation = Array.isArray(messages) && messages.length > 0;
  const last = lastText(base);
  const wanted = isWhole ? messages : last === undefined ? base : withLastText(base, text);

  function switchForm() {
    if (!isWhole) setMessages(wanted);
    else if (isConversation) {
      setBase(messages);
      setText(lastText(messages) ?? '');
    }
    setWhole(!isWhole);
  }

  async function replay() {
    setBusy(true);
    setFailure(undefined);
    try {
      const started = await api.runs.replay(run.id, {
        ...(model === '' ? {} : { model }),
        ...(isSame(wanted, asked) ? {} : { messages: wanted as never }),
        ...(policy.trim() === '' ? {} : { policy }),
      });
      void queries.invalidateQueries({ queryKey: ['runs', 'list'] });
      onClose();
      await navigate({ to: '/runs/$id', params: { id: started.id } });
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isWhole || isConversation) void replay();
  };

  return (
    <form className={styles.form} onSubmit={submit}>
      <p>{texts.about}</p>
      <Model value={model} own={run.model} onChange={setModel} />
      {isWhole ? (
        <JsonField
          label={texts.allMessages}
          value={messages}
          onChange={setMessages}
          problem={isConversation ? undefined : texts.notMessages}
        />
      ) : (
        last !== undefined && (
          <Labelled label={texts.lastMessage}>
            {(field) => (
              <textarea
                {...field}
                className={forms.input}
                rows={Math.max(2, Math.min(10, text.split('\n', 10).length))}
                value={text}
                onChange={({ target }) => setText(target.value)}
              />
            )}
          </Labelled>
        )
      )}
      <Button className={`${buttons.button} ${buttons.quiet} ${styles.start}`} onPress={switchForm}>
        {isWhole ? texts.editLast : texts.editAll}
      </Button>
      <details>
        <summary>{texts.draft}</summary>
        <Labelled label={texts.policy} about={texts.policyAbout}>
          {(field) => (
            <textarea
              {...field}
              className={`${forms.input} ${forms.json}`}
              rows={8}
              spellCheck={false}
              placeholder={'rules:\n  - name: no-writing\n    tool: workspace/write_file\n    effect: deny'}
              value={policy}
              onChange={({ target }) => setPolicy(target.value)}
            />
          )}
        </Labelled>
      </details>
      {failure !== undefined && <Refused error={failure} />}
      <DialogActions>
        <Button className={buttons.button} onPress={onClose}>
          {texts.cancel}
        </Button>
        <Button type="submit" className={`${buttons.button} ${buttons.primary}`} isDisabled={isBusy}>
          {texts.replay}
        </Button>
      </DialogActions>
    </form>
  );
}

interface ModelProps {
  value: string;
  own: string | null;
  onChange: (model: string) => void;
}

function Model({ value, own, onChange }: ModelProps) {
  const texts = useStrings(replayStrings);
  const { data = [] } = useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => api.models({ signal }),
    staleTime: 60_000,
  });
  return (
    <Labelled label={texts.model}>
      {(field) => (
        <select {...field} className={forms.input} value={value} onChange={({ target }) => onChange(target.value)}>
          <option value="">{texts.sameModel(own ?? '–')}</option>
          {data.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

/** A draft that cannot be used is refused with its mistakes. */
function Refused({ error }: { error: unknown }) {
  const { language } = useLanguage();
  const { sentence } = describeFailure(error, language);
  const own = error instanceof Error ? error.message : '';
  const problems = error instanceof SignalboxError ? (error.problems ?? []) : [];
  return (
    <div role="alert" className={styles.refused}>
      <p>{sentence}</p>
      {problems.length > 0 ? <DraftProblems problems={problems} /> : own !== sentence && <p lang="en">{own}</p>}
    </div>
  );
}
