// What two runs are and took, in a table, with the change from the left one to the right one.
import { Link } from '@tanstack/react-router';
import type { RunDetails } from '@signalbox/client';
import { useStrings } from '../../../i18n/language.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { compareStrings } from './compare-strings.js';
import styles from './compare.module.css';

export interface ComparedRun {
  run: RunDetails;
  isFile: boolean;
}

export function ComparedFigures({ left, right }: { left: ComparedRun; right: ComparedRun }) {
  const texts = useStrings(compareStrings);
  const formats = useFormats();
  const figures = figuresOf(formats);
  return (
    <div className={styles.scroll}>
      <table className={styles.figures} aria-label={texts.figures}>
        <thead>
          <tr>
            <th scope="col">
              <span className={styles.hidden}>{texts.figure}</span>
            </th>
            <RunHeading shown={left} other={right} side={texts.left} />
            <RunHeading shown={right} other={left} side={texts.right} />
            <th scope="col">{texts.change}</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">{texts.state}</th>
            <td>
              <StateBadge state={left.run.state} />
            </td>
            <td>
              <StateBadge state={right.run.state} />
            </td>
            <td />
          </tr>
          <tr>
            <th scope="row">{texts.model}</th>
            <td>{visibleText(left.run.model ?? texts.unknown)}</td>
            <td>{visibleText(right.run.model ?? texts.unknown)}</td>
            <td>{left.run.model === right.run.model ? '' : texts.differs}</td>
          </tr>
          {figures.map(({ name, value, shown }) => {
            const [before, after] = [value(left.run), value(right.run)];
            const told = (figure: number | null) => (figure === null ? texts.unknown : shown(figure));
            return (
              <tr key={name}>
                <th scope="row">{texts[name]}</th>
                <td className={styles.number}>{told(before)}</td>
                <td className={styles.number}>{told(after)}</td>
                <td className={styles.number}>{changeOf(before, after, shown)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function RunHeading({ shown: { run, isFile }, other, side }: { shown: ComparedRun; other: ComparedRun; side: string }) {
  const texts = useStrings(compareStrings);
  const part = run.replay_of === other.run.id ? texts.replay : other.run.replay_of === run.id ? texts.original : side;
  return (
    <th scope="col">
      <span className={styles.side}>{part}</span>{' '}
      <Link to="/runs/$id" params={{ id: run.id }} search={isFile ? { source: 'file' } : {}} className={styles.id}>
        {visibleText(run.id)}
      </Link>{' '}
      {isFile && <Badge>{texts.fromFile}</Badge>}
    </th>
  );
}

type Name = 'rounds' | 'calls' | 'promptTokens' | 'completionTokens' | 'cost' | 'duration';
interface Figure {
  name: Name;
  value: (run: RunDetails) => number | null;
  shown: (value: number) => string;
}

const figuresOf = ({ number, usd, duration }: ReturnType<typeof useFormats>): Figure[] => [
  { name: 'rounds', value: ({ rounds }) => rounds, shown: number },
  { name: 'calls', value: ({ calls }) => calls, shown: number },
  { name: 'promptTokens', value: (run) => tokensOf(run, 'prompt_tokens'), shown: number },
  { name: 'completionTokens', value: (run) => tokensOf(run, 'completion_tokens'), shown: number },
  { name: 'cost', value: (run) => run.cost_usd, shown: usd },
  { name: 'duration', value: (run) => run.duration_ms, shown: duration },
];

/** The sum of a run is written at its end. */
function tokensOf({ usage, round_list: rounds = [] }: RunDetails, name: 'prompt_tokens' | 'completion_tokens'): number {
  return usage.total_tokens > 0 ? usage[name] : rounds.reduce((sum, round) => sum + round.usage[name], 0);
}

function changeOf(before: number | null, after: number | null, shown: (value: number) => string): string {
  if (before === null || after === null || before === after) return '';
  return `${after > before ? '+' : '−'}${shown(Math.abs(after - before))}`;
}
