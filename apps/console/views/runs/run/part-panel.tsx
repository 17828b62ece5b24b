// What is known of the chosen part of a run.
import type { RunDetails, ShownRound } from '@signalbox/client';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { useFormats } from '../../../widgets/shown/formats.js';
import { JsonView } from '../../../widgets/shown/json-view.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { Markdown } from '../../../widgets/shown/markdown.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Tabs } from '../../../widgets/tabs.js';
import { CallDetails, type PanelTabs } from './call-details.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import type { RunEvent } from './live-events.js';
import { runStrings } from './run-strings.js';
import { maskedText, shownJson } from './shown-json.js';
import type { TimelinePart } from './timeline.js';
import styles from './run.module.css';

export interface ShownPart {
  heading: string;
  content: ReactNode;
}

export function usePart(
  run: RunDetails | undefined,
  parts: readonly TimelinePart[],
  events: readonly RunEvent[] | undefined,
): (key: string | undefined, tabs: PanelTabs) => ShownPart | undefined {
  const texts = useStrings(runStrings);
  return (key, tabs) => {
    if (run === undefined || key === undefined) return undefined;
    const event = key.startsWith('event-') ? events?.find(({ n }) => key === `event-${n}`) : undefined;
    if (event !== undefined) {
      return { heading: visibleText(event.type), content: <JsonView value={shownJson(event)} open={3} /> };
    }
    const part = parts.find((each) => each.key === key);
    if (part === undefined) return undefined;
    const { round, call, kind } = part;
    if (call === undefined) {
      const heading = kind === 'round' ? texts.round(round.round) : texts.modelCall;
      return { heading, content: <RoundDetails key={key} run={run} round={round} tabs={tabs} /> };
    }
    const heading = visibleText(call.server === '' ? call.name : `${call.server}/${call.tool}`);
    return { heading, content: <CallDetails key={key} call={call} caller={run.principal} kind={kind} tabs={tabs} /> };
  };
}

function RoundDetails({ run, round, tabs }: { run: RunDetails; round: ShownRound; tabs: PanelTabs }) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  const { usage, cost_usd: usd } = round;
  const overview = (
    <Facts>
      <Fact name={texts.model}>{visibleText(`${round.provider}/${round.model}`)}</Fact>
      <Fact name={texts.finishReason}>{visibleText(round.finish_reason)}</Fact>
      <Fact name={texts.tokens}>
        {texts.tokensOf(formats.number(usage.prompt_tokens), formats.number(usage.completion_tokens))}
      </Fact>
      <Fact name={texts.cost}>{usd === null ? texts.unknownCost : formats.usd(usd)}</Fact>
      <Fact name={texts.started}>{formats.time(new Date(round.started_at))}</Fact>
      <Fact name={texts.duration}>{formats.duration(Date.parse(round.ended_at) - Date.parse(round.started_at))}</Fact>
      <Fact name={texts.messages}>{texts.sent(round.sent)}</Fact>
    </Facts>
  );
  return (
    <Tabs
      label={texts.part}
      chosen={tabs.tab}
      onChoose={tabs.onTab}
      tabs={[
        { id: 'overview', title: texts.overview, content: overview },
        { id: 'messages', title: texts.messages, content: <Messages run={run} round={round} /> },
      ]}
    />
  );
}

type ShownMessage = Record<string, unknown>;

/** Those that were new to the model, and its answer; the earlier ones on demand. */
function Messages({ run, round }: { run: RunDetails; round: ShownRound }) {
  const texts = useStrings(runStrings);
  const sent: readonly ShownMessage[] = (run.messages ?? []).slice(0, round.sent);
  const before = run.round_list?.findLast((each) => each.round < round.round);
  const known = before === undefined ? 0 : Math.min(sent.length, before.sent + 1);
  const [isWhole, setWhole] = useState(false);
  return (
    <div className={styles.messages}>
      {known > 0 && !isWhole && (
        <Button className={buttons.button} onPress={() => setWhole(true)}>
          {texts.earlier(known)}
        </Button>
      )}
      {sent.slice(isWhole ? 0 : known).map((message, index) => (
        <Message key={index} message={message} />
      ))}
      <Message message={round.message} name={texts.answer} />
    </div>
  );
}

function Message({ message, name }: { message: ShownMessage; name?: string }) {
  const texts = useStrings(runStrings);
  const role = typeof message['role'] === 'string' ? message['role'] : '';
  const content = message['content'];
  const reasoning = message['reasoning_content'];
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as ToolCallOfMessage[]) : [];
  return (
    <article className={styles.message}>
      <h3>{name ?? visibleText(role)}</h3>
      {typeof reasoning === 'string' && reasoning !== '' && (
        <details>
          <summary>{texts.reasoning}</summary>
          <LongText text={reasoning} />
        </details>
      )}
      {typeof content === 'string' &&
        content !== '' &&
        (role === 'assistant' ? <Markdown text={content} /> : <LongText text={content} />)}
      {typeof content === 'object' && content !== null && <JsonView value={shownJson(content)} />}
      {calls.map((call, index) => (
        <div key={index}>
          <p>{texts.callsTool(visibleText(textOf(call.function?.name)))}</p>
          <LongText text={maskedText(textOf(call.function?.arguments))} isCode />
        </div>
      ))}
      {(content === null || content === undefined || content === '') && calls.length === 0 && (
        <p className={styles.soft}>{texts.noText}</p>
      )}
    </article>
  );
}

interface ToolCallOfMessage {
  function?: { name?: unknown; arguments?: unknown };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
