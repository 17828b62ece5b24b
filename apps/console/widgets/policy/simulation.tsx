// How far a simulation is, and what it found: sums first, then calls one by one, each with its row of the audit.
import type { SimulationEvent } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { type Column, DataTable } from '../lists/data-table.js';
import { Fact, Facts } from '../shown/facts.js';
import { useFormats } from '../shown/formats.js';
import { TimeAgo } from '../shown/time-ago.js';
import { visibleText } from '../shown/visible-text.js';
import { Failure } from '../states.js';
import { EffectBadge, EffectChange } from './effect-badge.js';
import { policyWords } from './policy-strings.js';
import type { SimulatedCall, SimulationEnd, SimulationState } from './use-simulation.js';
import styles from './simulation.module.css';

type Change = Extract<SimulationEvent, { type: 'done' }>['changes'][number];

export function Simulation({ now, onCancel }: { now: SimulationState; onCancel: () => void }) {
  const texts = useStrings(policyWords);
  const formats = useFormats();
  if (now.state === 'idle') return null;
  return (
    <section className={styles.simulation} aria-label={texts.changes}>
      {now.state === 'running' && (
        <div role="status" className={styles.running}>
          <span>{texts.judged(formats.number(now.judged))}</span>
          <progress aria-label={texts.judged('')} value={now.part} max={1} />
          <Button className={buttons.button} onPress={onCancel}>
            {texts.cancel}
          </Button>
        </div>
      )}
      {now.state === 'cancelled' && <p role="status">{texts.cancelled}</p>}
      {now.state === 'failed' && <Failure error={now.error} />}
      {now.end !== undefined && <Sums end={now.end} />}
      <Listed now={now} />
    </section>
  );
}

function Sums({ end }: { end: SimulationEnd }) {
  const texts = useStrings(policyWords);
  const formats = useFormats();
  const { counts, changes, unknown } = end;
  const columns: readonly Column<Change>[] = [
    {
      name: 'tool',
      heading: texts.tool,
      width: 'minmax(0, 2fr)',
      show: (row) => <code className={styles.cut}>{visibleText(`${row.server}/${row.tool}`)}</code>,
    },
    {
      name: 'change',
      heading: texts.change,
      width: 'minmax(0, 2fr)',
      show: (row) => <EffectChange was={row.was} now={row.now} />,
    },
    {
      name: 'rule',
      heading: texts.rule,
      width: 'minmax(0, 1fr)',
      isMinor: true,
      show: (row) => <code className={styles.cut}>{visibleText(row.rule)}</code>,
    },
    { name: 'calls', heading: texts.calls, width: '72px', isNumber: true, show: (row) => formats.number(row.calls) },
  ];
  return (
    <>
      <div role="status">
        <Facts layout="blocks">
          {(['changed', 'same', 'unknown', 'undecided'] as const).map((kind) => (
            <Fact key={kind} name={texts[kind]}>
              <strong>{formats.number(counts[kind])}</strong>
            </Fact>
          ))}
        </Facts>
        {counts.changed === 0 && <p>{end.calls === 0 ? texts.noCalls : texts.noChange}</p>}
      </div>
      {changes.length > 0 && (
        <DataTable
          label={texts.changes}
          rows={changes}
          columns={columns}
          rowKey={({ server, tool, was, now, rule }) => [server, tool, was, now, rule].join('\n')}
        />
      )}
      {unknown.length > 0 && (
        <ul className={styles.unknown} aria-label={texts.unknown}>
          {unknown.map(({ because, calls }) => (
            <li key={because}>
              {formats.number(calls)} · {visibleText(because)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Listed({ now: { calls, end } }: { now: SimulationState }) {
  const texts = useStrings(policyWords);
  const formats = useFormats();
  if (calls.length === 0) return null;
  const columns: readonly Column<SimulatedCall>[] = [
    {
      name: 'when',
      heading: texts.when,
      width: '110px',
      show: (call) => <When call={call} />,
    },
    {
      name: 'caller',
      heading: texts.caller,
      width: 'minmax(0, 1fr)',
      isMinor: true,
      show: ({ principal }) => <span className={styles.cut}>{visibleText(principal)}</span>,
    },
    {
      name: 'tool',
      heading: texts.tool,
      width: 'minmax(0, 2fr)',
      show: ({ server, tool }) => <code className={styles.cut}>{visibleText(`${server}/${tool}`)}</code>,
    },
    { name: 'verdict', heading: texts.verdict, width: 'minmax(0, 2fr)', show: (call) => <Verdict call={call} /> },
  ];
  const changed = end === undefined ? undefined : end.counts.changed + end.counts.unknown;
  return (
    <>
      <h3>{texts.listed}</h3>
      {end !== undefined && changed !== undefined && changed > end.listed && (
        <p className={styles.soft}>{texts.listedOf(formats.number(end.listed), formats.number(changed))}</p>
      )}
      <DataTable
        label={texts.listed}
        rows={calls}
        columns={columns}
        rowKey={({ id }) => id}
        card={(call) => (
          <div className={styles.card}>
            <code className={styles.cut}>{visibleText(`${call.server}/${call.tool}`)}</code>
            <span>
              <Verdict call={call} />
            </span>
            <span>
              <When call={call} /> · {visibleText(call.principal)}
            </span>
          </div>
        )}
      />
    </>
  );
}

const When = ({ call: { id, at } }: { call: SimulatedCall }) => (
  <Link to="/audit" search={{ id }} className={styles.link}>
    <TimeAgo time={at} />
  </Link>
);

function Verdict({ call }: { call: SimulatedCall }) {
  const texts = useStrings(policyWords);
  if (call.kind === 'unknown') return <span title={call.because}>{texts.unknown}</span>;
  if (call.kind === 'changed') return <EffectChange was={call.was} now={call.now} />;
  return (
    <>
      <EffectBadge effect={call.now} /> {texts.stays}
    </>
  );
}
