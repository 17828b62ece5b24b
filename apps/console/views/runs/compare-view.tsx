// Two runs beside each other: what they took, and where they first part.
import { useMemo } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { Page } from '../../widgets/page.js';
import { StateBadge } from '../../widgets/shown/badge.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { ChooseRun } from './compare/choose-run.js';
import { compareStrings } from './compare/compare-strings.js';
import { ComparedFigures } from './compare/compared-figures.js';
import { partId, PartOfRuns } from './compare/compared-part.js';
import { comparedParts } from './compare/compared-parts.js';
import { type ShownRun, useRun } from './run/use-run.js';
import styles from './compare/compare.module.css';

type SideName = 'left' | 'right';

export default function CompareView() {
  const texts = useStrings(compareStrings);
  const [address, change] = useFilters(['left', 'right', 'left_source', 'right_source']);
  const left = useRun(address.left ?? '', { isFile: address.left_source === 'file', needsEvents: false });
  const right = useRun(address.right ?? '', { isFile: address.right_source === 'file', needsEvents: false });
  const parts = useMemo(
    () => (left.run === undefined || right.run === undefined ? undefined : comparedParts(left.run, right.run)),
    [left.run, right.run],
  );
  const choose = (side: SideName) => (id: string | undefined, source?: 'file') =>
    change({ [side]: id, [`${side}_source`]: source });
  const sides = [
    { id: address.left, shown: left },
    { id: address.right, shown: right },
  ];
  if (sides.some(isComing) && sides.every((side) => isComing(side) || side.shown.run !== undefined)) {
    return (
      <Page title={texts.title} about={texts.about}>
        <Loading />
      </Page>
    );
  }
  if (left.run === undefined || right.run === undefined || parts === undefined) {
    return (
      <Page title={texts.title} about={texts.about}>
        <div className={styles.choosers}>
          <Side name={texts.left} id={address.left} shown={left} other={address.right} onChoose={choose('left')} />
          <Side name={texts.right} id={address.right} shown={right} other={address.left} onChoose={choose('right')} />
        </div>
      </Page>
    );
  }
  const differing = parts.filter(({ isSame }) => !isSame);
  const [first] = differing;
  const swap = () =>
    change({
      left: address.right,
      right: address.left,
      left_source: address.right_source,
      right_source: address.left_source,
    });
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <>
          {first !== undefined && (
            <Button className={`${buttons.button} ${buttons.primary}`} onPress={() => jumpTo(first.key)}>
              {texts.first}
            </Button>
          )}
          <Button className={buttons.button} onPress={swap}>
            {texts.swap}
          </Button>
          <Button className={buttons.button} onPress={() => choose('right')(undefined)}>
            {texts.another}
          </Button>
        </>
      }
    >
      {[left, right].map(({ error, reload }, at) =>
        error === null ? null : <Failure key={at} error={error} onRetry={reload} />,
      )}
      <ComparedFigures left={{ run: left.run, isFile: left.isFile }} right={{ run: right.run, isFile: right.isFile }} />
      <p role="status">{first === undefined ? texts.noDifference : texts.differences(differing.length)}</p>
      <div className={styles.parts}>
        {parts.map((part) => (
          <PartOfRuns key={part.key} part={part} isFirst={part === first} />
        ))}
      </div>
    </Page>
  );
}

const isComing = ({ id, shown }: { id: string | undefined; shown: ShownRun }): boolean =>
  id !== undefined && !shown.isFile && shown.run === undefined && shown.error === null;

function jumpTo(key: string): void {
  const part = document.getElementById(partId(key));
  part?.scrollIntoView({ block: 'start' });
  part?.focus({ preventScroll: true });
}

interface SideProps {
  name: string;
  id: string | undefined;
  shown: ShownRun;
  other: string | undefined;
  onChoose: (id: string | undefined, source?: 'file') => void;
}

/** Until both runs are there: the one that is, the choice of the other. */
function Side({ name, id, shown: { run, error, isFile, reload }, other, onChoose }: SideProps) {
  const texts = useStrings(compareStrings);
  if (id === undefined) return <ChooseRun side={name} other={other} onChoose={onChoose} />;
  return (
    <section className={styles.chooser} aria-label={name}>
      <h2>{name}</h2>
      <code className={styles.id}>{visibleText(id)}</code>
      {run !== undefined && (
        <p>
          <StateBadge state={run.state} /> {visibleText(run.model ?? '–')}
        </p>
      )}
      {run === undefined && isFile && <Notice text={texts.fileGone} />}
      {run === undefined && !isFile && (error === null ? <Loading /> : <Failure error={error} onRetry={reload} />)}
      <div>
        <Button className={buttons.button} onPress={() => onChoose(undefined)}>
          {texts.another}
        </Button>
      </div>
    </section>
  );
}
