// A call of a tool, from the first piece of its arguments to its result. What waits for the person of the page is answered here.
import { memo, useState } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { ToolApp } from '../../../widgets/apps/tool-app.js';
import { SchemaValues } from '../../../widgets/forms/schema-values.js';
import { Badge } from '../../../widgets/shown/badge.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import type { Tone } from '../../../widgets/shown/state-words.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import type { CallPart } from '../conversation/answer.js';
import type { TurnNode } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { useOfferableTools } from '../store/use-tools.js';
import { chatStrings } from '../strings.js';
import { ClientResult } from './client-result.js';
import { parsedArguments } from './parsed-arguments.js';
import { WaitingCall } from './waiting-call.js';
import styles from './call.module.css';

export interface CallCardProps {
  call: CallPart;
  turn: TurnNode;
  chat: OpenChat;
  isLast: boolean;
}

export const CallCard = memo(
  function CallCard({ call, turn, chat, isLast }: CallCardProps) {
    const { tools } = useOfferableTools();
    const [isOpen, setOpen] = useState<boolean>();
    const schema = tools?.find((tool) => tool.function.name === call.name)?.function.parameters;
    const given = parsedArguments(call.arguments);
    const isRunning = turn.state === 'running' || turn.state === 'cut';
    const asked = isRunning ? call.asked : undefined;
    const wantsResult = call.isClient && call.given === undefined && turn.state === 'done' && isLast;
    const isShown = isOpen ?? (asked !== undefined || wantsResult);
    return (
      <section
        className={styles.card}
        aria-label={visibleText(call.name)}
        data-waits={asked !== undefined || wantsResult}
      >
        <CallHead call={call} isRunning={isRunning} isShown={isShown} onToggle={() => setOpen(!isShown)} />
        {call.status === 'running' && isRunning && <Progress call={call} />}
        {isShown && asked?.kind !== 'approval' && (
          <Labelled kind="arguments">
            {given === undefined ? (
              <LongText text={call.arguments} isCode />
            ) : (
              <SchemaValues schema={schema} value={given} />
            )}
          </Labelled>
        )}
        {asked !== undefined && <WaitingCall key={asked.id} asked={asked} schema={schema} />}
        {wantsResult && <ClientResult onGive={(text) => chat.giveResult(turn, call.id, text)} />}
        {isShown && <Outcome call={call} />}
        {isShown && call.result !== undefined && !call.isClient && (
          <div className={styles.part}>
            <ToolApp callId={call.id} name={call.name} />
          </div>
        )}
      </section>
    );
  },
  (before, after) =>
    before.call === after.call &&
    before.isLast === after.isLast &&
    before.chat === after.chat &&
    before.turn.state === after.turn.state,
);

interface CallHeadProps {
  call: CallPart;
  isRunning: boolean;
  isShown: boolean;
  onToggle: () => void;
}

const longestGlimpse = 160;

function CallHead({ call, isRunning, isShown, onToggle }: CallHeadProps) {
  const texts = useStrings(chatStrings);
  const formats = useFormats();
  const { result } = call;
  const [state, tone] = stateOf(call, isRunning);
  return (
    <button type="button" className={styles.head} aria-expanded={isShown} onClick={onToggle}>
      <code className={styles.name}>{visibleText(call.name)}</code>
      {!isShown && <span className={styles.glimpse}>{visibleText(call.arguments.slice(0, longestGlimpse))}</span>}
      <span className={styles.marks}>
        {result?.cached === true && <Badge>{texts.cached}</Badge>}
        {result?.truncated === true && <Badge tone="warn">{texts.truncated}</Badge>}
        {result !== undefined && <span className={styles.time}>{formats.duration(result.duration_ms)}</span>}
        <Badge tone={tone}>{texts[state]}</Badge>
      </span>
    </button>
  );
}

type StateText = 'writing' | 'queued' | 'running' | 'waiting' | 'succeeded' | 'failedCall' | 'unfinished';

function stateOf({ status, result, isClient, given }: CallPart, isRunning: boolean): [StateText, Tone] {
  if (result !== undefined) return result.success ? ['succeeded', 'good'] : ['failedCall', 'bad'];
  if (given !== undefined) return ['succeeded', 'good'];
  if (isClient && !isRunning) return ['waiting', 'warn'];
  if (!isRunning) return ['unfinished', 'neutral'];
  if (status === 'waiting') return ['waiting', 'warn'];
  return [status === 'ended' ? 'succeeded' : status, status === 'running' ? 'accent' : 'neutral'];
}

function Progress({ call: { progress, total, message, name } }: { call: CallPart }) {
  if (progress === undefined && message === undefined) return null;
  return (
    <div className={styles.progress}>
      {progress !== undefined && (
        <progress aria-label={visibleText(name)} value={total === undefined ? undefined : progress} max={total ?? 1} />
      )}
      {message !== undefined && <span>{visibleText(message)}</span>}
      {progress !== undefined && <span>{total === undefined ? progress : `${progress} / ${total}`}</span>}
    </div>
  );
}

function Outcome({ call: { result, given } }: { call: CallPart }) {
  if (given !== undefined) {
    return (
      <Labelled kind="result">
        <LongText text={given} isCode />
      </Labelled>
    );
  }
  if (result === undefined) return null;
  return (
    <Labelled kind="result">
      {result.error !== undefined && (
        <p className={styles.error}>
          {visibleText(result.error.message)} <code>{result.error.code}</code>
        </p>
      )}
      {result.content !== '' && result.content !== result.error?.message && <LongText text={result.content} isCode />}
    </Labelled>
  );
}

function Labelled({ kind, children }: { kind: 'arguments' | 'result'; children: React.ReactNode }) {
  const texts = useStrings(chatStrings);
  return (
    <div className={styles.part}>
      <h3>{texts[kind]}</h3>
      {children}
    </div>
  );
}
