// The parts of a run below each other, each with a bar on one axis of time.
import { useStrings } from '../../../i18n/language.js';
import { type Column, DataTable } from '../../../widgets/lists/data-table.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { DurationLegend } from '../../../widgets/shown/duration-bar.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { stateOfWait, type Tone } from '../../../widgets/shown/state-words.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Notice } from '../../../widgets/states.js';
import { runStrings } from './run-strings.js';
import { sourceOf } from './replayed-result.js';
import type { Span, Timeline, TimelinePart } from './timeline.js';
import styles from './timeline.module.css';

export interface TimelineTabProps {
  timeline: Timeline;
  isGoing: boolean;
  chosen: string | undefined;
  onChoose: (part: TimelinePart) => void;
}

const marks = [0, 0.25, 0.5, 0.75, 1] as const;

export function TimelineTab({ timeline: { parts, axis }, isGoing, chosen, onChoose }: TimelineTabProps) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  if (parts.length === 0) return <Notice text={isGoing ? texts.nothingYet : texts.noRounds} />;
  const whole = axis.to - axis.from;
  const columns: Column<TimelinePart>[] = [
    { name: 'part', heading: texts.part, width: 'minmax(0, 1.6fr)', show: (part) => <PartName part={part} /> },
    {
      name: 'axis',
      heading: (
        <span className={styles.axis} aria-label={texts.axis}>
          {marks.map((mark) => (
            <span key={mark} style={{ left: `${mark * 100}%` }}>
              {formats.duration(whole * mark)}
            </span>
          ))}
        </span>
      ),
      width: 'minmax(64px, 1fr)',
      show: (part) => <PartBar part={part} axis={axis} />,
    },
    {
      name: 'duration',
      heading: texts.duration,
      width: '72px',
      isNumber: true,
      show: ({ durationMs }) => (durationMs === null ? '' : formats.duration(durationMs)),
    },
  ];
  return (
    <>
      <DurationLegend />
      <DataTable
        label={texts.timeline}
        columns={columns}
        rows={parts}
        rowKey={({ key }) => key}
        chosen={chosen}
        onOpen={onChoose}
        rowHeight={34}
      />
    </>
  );
}

const verdictTones: Readonly<Record<string, Tone>> = { allow: 'good', require_approval: 'warn', deny: 'bad' };

function PartName({ part }: { part: TimelinePart }) {
  const { kind, depth, round, call, signIn } = part;
  return (
    <span className={styles.part} style={{ paddingLeft: depth * 16 }}>
      <Name {...{ kind, round, call, signIn }} />
    </span>
  );
}

function Name({ kind, round, call, signIn }: Pick<TimelinePart, 'kind' | 'round' | 'call' | 'signIn'>) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  if (kind === 'round') return <strong>{texts.round(round.round)}</strong>;
  if (kind === 'model' || call === undefined) {
    const model = visibleText(`${round.provider}/${round.model}`);
    const tokens = formats.number(round.usage.total_tokens);
    return (
      <>
        <span>{texts.modelCall}</span>
        <Facts facts={[model, `${texts.tokens} ${tokens}`, round.finish_reason]} />
      </>
    );
  }
  switch (kind) {
    case 'call':
      return (
        <>
          <span className={styles.call}>
            {visibleText(call.server === '' ? call.name : `${call.server}/${call.tool}`)}
          </span>
          <StateBadge state={call.state} />
          <Facts
            facts={[
              ...(call.kind === 'client' ? [texts.byCaller] : []),
              ...sourceOf(call, texts),
              ...(call.cached ? [texts.cached] : []),
              ...(call.truncated ? [texts.truncated] : []),
            ]}
          />
        </>
      );
    case 'policy': {
      const { verdict = 'allow', rule = null } = call.policy ?? {};
      return (
        <>
          <span>{texts.policy}</span>
          <Badge tone={verdictTones[verdict] ?? 'neutral'}>{texts[`verdict_${verdict}`] ?? verdict}</Badge>
          <Facts facts={rule === null ? [] : [visibleText(rule)]} />
        </>
      );
    }
    case 'person':
      return (
        <>
          <span>{texts.person}</span>
          {call.approval !== null && <StateBadge state={call.approval.state} />}
          <Facts
            facts={[
              ...(typeof call.approval?.decided_by === 'string' ? [visibleText(call.approval.decided_by)] : []),
              ...(call.questions > 0 ? [texts.questions(call.questions)] : []),
            ]}
          />
        </>
      );
    case 'sign_in':
      return (
        <>
          <span>{texts.signInAt(visibleText(call.server))}</span>
          {signIn !== undefined && <StateBadge state={stateOfWait({ kind, state: signIn.state })} />}
          <Facts facts={typeof signIn?.decided_by === 'string' ? [visibleText(signIn.decided_by)] : []} />
        </>
      );
    case 'queue':
      return <span>{texts.queue}</span>;
    case 'tool':
      return (
        <>
          <span>{texts.tool}</span>
          <Facts
            facts={[
              texts.attempts(call.attempts),
              ...(call.worker === null ? [] : [`${texts.worker} ${visibleText(call.worker)}`]),
              ...(call.isolation === null ? [] : [`${texts.isolation} ${visibleText(call.isolation)}`]),
            ]}
          />
        </>
      );
  }
}

const Facts = ({ facts }: { facts: readonly string[] }) =>
  facts.length === 0 ? null : (
    <span className={styles.facts} title={facts.join(' · ')}>
      {facts.join(' · ')}
    </span>
  );

const shades: Readonly<Record<TimelinePart['kind'], string | undefined>> = {
  round: styles.whole,
  call: styles.whole,
  model: styles.model,
  policy: styles.mark,
  person: styles.person,
  sign_in: styles.person,
  queue: styles.queue,
  tool: styles.tool,
};

function PartBar({ part: { kind, span }, axis }: { part: TimelinePart; axis: Span }) {
  if (span === undefined) return null;
  const whole = axis.to - axis.from;
  const place = (at: number) => Math.max(0, Math.min(100, (100 * (at - axis.from)) / whole));
  const left = place(span.from);
  return (
    <span className={styles.track} aria-hidden="true">
      <span className={shades[kind]} style={{ left: `${left}%`, width: `${place(span.to) - left}%` }} />
    </span>
  );
}
