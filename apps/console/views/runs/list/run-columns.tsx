// What the list shows of each run: as columns, and as a card in a narrow window.
import { Link } from '@tanstack/react-router';
import type { ListedRun } from '@signalbox/client';
import type { ReactNode } from 'react';
import { useMay } from '../../../api/me.js';
import { useStrings } from '../../../i18n/language.js';
import type { Column } from '../../../widgets/lists/data-table.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { DurationBar } from '../../../widgets/shown/duration-bar.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { useRunWords } from '../run-words.js';
import { runsStrings } from '../strings.js';
import styles from './runs.module.css';

export interface Choosing {
  chosen: ReadonlySet<string>;
  choose: (id: string, isChosen: boolean) => void;
}

export interface RunShapes {
  columns: Column<ListedRun>[];
  card: (run: ListedRun) => ReactNode;
}

export function useRunShapes({ chosen, choose }: Choosing): RunShapes {
  const texts = useStrings(runsStrings);
  const formats = useFormats();
  const words = useRunWords();
  const isAdmin = useMay('admin') === true;

  const box = ({ id }: ListedRun) => (
    <input
      type="checkbox"
      className={styles.box}
      aria-label={texts.chooseRun(id)}
      checked={chosen.has(id)}
      onChange={({ target }) => choose(id, target.checked)}
    />
  );
  const time = (run: ListedRun) => (
    <Link to="/runs/$id" params={{ id: run.id }} title={run.id} className={styles.name}>
      <TimeAgo time={run.created_at} />
    </Link>
  );
  const state = (run: ListedRun) => {
    const why = words(run);
    return (
      <span className={styles.state} title={why}>
        <StateBadge state={run.state} />
        {run.replay_of !== null && (
          <span title={texts.replayOf(run.replay_of)}>
            <Badge>{texts.replay}</Badge>
          </span>
        )}
        {why !== undefined && <span className={styles.why}>{why}</span>}
      </span>
    );
  };
  const cost = ({ cost_usd: usd }: ListedRun) =>
    usd === null ? <span title={texts.unknownCostHint}>–</span> : formats.usd(usd);
  const duration = (run: ListedRun) => (
    <span className={styles.duration}>
      <DurationBar spentMs={run.spent_ms} />
      <span>{formats.duration(run.duration_ms)}</span>
    </span>
  );
  const tools = ({ tools: names }: ListedRun) => {
    const shown = names.map(visibleText).join(', ');
    return <span title={shown}>{shown}</span>;
  };
  const model = (run: ListedRun) => <span title={run.model ?? ''}>{visibleText(run.model ?? '–')}</span>;

  const columns: (Column<ListedRun> | false)[] = [
    { name: 'choose', heading: <span className={styles.hidden}>{texts.choose}</span>, width: '20px', show: box },
    { name: 'time', heading: texts.time, width: '92px', show: time },
    { name: 'state', heading: texts.state, width: 'minmax(130px, 2fr)', show: state },
    isAdmin && {
      name: 'principal',
      heading: texts.principal,
      width: 'minmax(60px, 0.7fr)',
      show: ({ principal }) => <span title={principal}>{visibleText(principal)}</span>,
    },
    { name: 'model', heading: texts.model, width: 'minmax(90px, 1fr)', show: model },
    { name: 'tools', heading: texts.tools, width: 'minmax(90px, 1.2fr)', show: tools },
    {
      name: 'rounds',
      heading: texts.rounds,
      width: '56px',
      isNumber: true,
      show: ({ rounds }) => formats.number(rounds),
    },
    {
      name: 'tokens',
      heading: texts.tokens,
      width: '68px',
      isNumber: true,
      show: ({ usage }) => formats.number(usage.total_tokens),
    },
    { name: 'cost', heading: texts.cost, width: '68px', isNumber: true, show: cost },
    { name: 'duration', heading: texts.duration, width: 'minmax(130px, 1fr)', show: duration },
  ];
  return {
    columns: columns.filter((column) => column !== false),
    card: (run) => (
      <div className={styles.card}>
        <div className={styles.cardHead}>
          {box(run)}
          {state(run)}
          {time(run)}
        </div>
        <div className={styles.cardFacts}>
          {model(run)}
          {isAdmin && <span>{visibleText(run.principal)}</span>}
          {run.tools.length > 0 && tools(run)}
        </div>
        <div className={styles.cardFacts}>
          <span>
            {texts.rounds} {formats.number(run.rounds)}
          </span>
          <span>
            {texts.tokens} {formats.number(run.usage.total_tokens)}
          </span>
          <span>
            {texts.cost} {cost(run)}
          </span>
        </div>
        {duration(run)}
      </div>
    ),
  };
}
