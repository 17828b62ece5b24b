// One part of two runs: folded where it is the same, else both sides with what differs.
import type { ReactNode } from 'react';
import { useStrings } from '../../../i18n/language.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { sourceOf } from '../run/replayed-result.js';
import { compareStrings } from './compare-strings.js';
import type { ComparedPart, ComparedSide, TextName } from './compared-parts.js';
import { SplitDiff } from './split-diff.js';
import styles from './compare.module.css';

const textNames: readonly TextName[] = ['reasoning', 'text', 'arguments', 'result'];

export const partId = (key: string): string => `part-${key}`;

export function PartOfRuns({ part, isFirst }: { part: ComparedPart; isFirst: boolean }) {
  const texts = useStrings(compareStrings);
  const { left, right, kind, round, isSame } = part;
  const name = (left ?? right)?.name ?? '';
  const heading = [
    ...(round === 0 ? [] : [texts.round(round)]),
    ...(kind === 'call' ? [texts.call, visibleText(name)] : [texts[kind]]),
  ].join(' · ');
  if (isSame) {
    return (
      <details className={styles.part} aria-label={heading}>
        <summary>
          <span className={styles.heading}>{heading}</span> <Badge>{texts.isSame}</Badge> <CallFacts side={right} />
        </summary>
        {textNames.map((each) => {
          const text = right?.texts[each];
          if (text === undefined) return null;
          return (
            <Text key={each} name={each} isNamed={kind === 'call'}>
              {text === '' ? <p className={styles.soft}>{texts.noText}</p> : <LongText text={text} isCode />}
            </Text>
          );
        })}
      </details>
    );
  }
  const only = left === undefined ? texts.onlyRight : right === undefined ? texts.onlyLeft : texts.differs;
  return (
    <section className={`${styles.part} ${styles.open}`} id={partId(part.key)} tabIndex={-1} aria-label={heading}>
      <h2>
        <span className={styles.heading}>{heading}</span> <Badge tone="warn">{only}</Badge>{' '}
        {isFirst && <Badge tone="accent">{texts.isFirst}</Badge>}
      </h2>
      {kind === 'call' && (
        <div className={styles.sides}>
          <Facts side={left} name={texts.left} />
          <Facts side={right} name={texts.right} />
        </div>
      )}
      {textNames.map((each) => {
        const [before, after] = [left?.texts[each], right?.texts[each]];
        if (before === undefined && after === undefined) return null;
        return (
          <Text key={each} name={each} isNamed={kind === 'call' || each === 'reasoning'}>
            <SplitDiff name={`${heading} · ${texts[each]}`} left={before} right={after} />
          </Text>
        );
      })}
    </section>
  );
}

function Text({ name, isNamed, children }: { name: TextName; isNamed: boolean; children: ReactNode }) {
  const texts = useStrings(compareStrings);
  return (
    <div className={styles.text}>
      {isNamed && <h3>{texts[name]}</h3>}
      {children}
    </div>
  );
}

const Facts = ({ side, name }: { side: ComparedSide | undefined; name: string }) => (
  <div className={styles.facts} role="group" aria-label={name}>
    {side === undefined ? '–' : <CallFacts side={side} />}
  </div>
);

function CallFacts({ side }: { side: ComparedSide | undefined }) {
  const texts = useStrings(compareStrings);
  const call = side?.call;
  if (call === undefined) return null;
  const { policy } = call;
  const told = [
    ...(policy === null ? [] : [texts[`verdict_${policy.verdict}`] ?? policy.verdict]),
    ...(typeof policy?.rule === 'string' ? [visibleText(policy.rule)] : []),
    ...sourceOf(call, texts),
  ];
  return (
    <>
      <StateBadge state={call.state} /> <span className={styles.soft}>{told.join(' · ')}</span>
    </>
  );
}
