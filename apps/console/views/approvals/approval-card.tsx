// One approval: what it is about, and its actions, or how it ended.
import type { Approval } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useEffect, useId, useRef } from 'react';
import { Button } from 'react-aria-components/Button';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { DecideCall, type DecisionMode } from '../../widgets/decisions/decide-call.js';
import { TimeLeft } from '../../widgets/decisions/time-left.js';
import { SchemaValues } from '../../widgets/forms/schema-values.js';
import { Badge, StateBadge } from '../../widgets/shown/badge.js';
import { stateOfWait } from '../../widgets/shown/state-words.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { AlwaysAllow } from './always-allow.js';
import { ApprovalFacts, useArgumentsSchema, useSignInAddress } from './approval-facts.js';
import { Outcome } from './outcome.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

export interface ApprovalCardProps {
  approval: Approval;
  isSelected: boolean;
  mode: DecisionMode;
  onMode: (mode: DecisionMode) => void;
  onDecided: (decided: Approval, byOthers: boolean) => void;
}

export function ApprovalCard({ approval, isSelected, mode, onMode, onDecided }: ApprovalCardProps) {
  const schema = useArgumentsSchema(approval);
  const address = useSignInAddress()(approval);
  return (
    <CardFrame approval={approval} isSelected={isSelected} aside={<TimeLeft until={approval.expires_at} />}>
      <ApprovalFacts approval={approval} isOpen={isSelected} />
      <DecideCall
        approval={{ ...approval, authorization_url: address }}
        argumentsSchema={schema}
        mode={mode}
        onMode={onMode}
        onDecided={onDecided}
      />
      {mode === 'choose' && <AlwaysAllow approval={approval} />}
    </CardFrame>
  );
}

export interface EndedCardProps {
  approval: Approval;
  byOthers?: boolean;
  /** Absent: all that is known of it is shown. */
  onDismiss?: () => void;
}

export function EndedCard({ approval, byOthers = false, onDismiss }: EndedCardProps) {
  const texts = useStrings(approvalsStrings);
  const schema = useArgumentsSchema(approval);
  return (
    <CardFrame approval={approval} isSelected={false} aside={<StateBadge state={stateOfWait(approval)} />}>
      <div role="status">
        <Outcome approval={approval} byOthers={byOthers} />
      </div>
      {onDismiss === undefined ? (
        <>
          <ApprovalFacts approval={approval} />
          <AlwaysAllow approval={approval} />
        </>
      ) : (
        <>
          <SchemaValues schema={schema} value={approval.arguments} />
          <div>
            <Button className={`${buttons.button} ${buttons.quiet}`} onPress={onDismiss}>
              {texts.dismiss}
            </Button>
          </div>
        </>
      )}
    </CardFrame>
  );
}

interface CardFrameProps {
  approval: Approval;
  isSelected: boolean;
  aside: React.ReactNode;
  children: React.ReactNode;
}

function CardFrame({ approval, isSelected, aside, children }: CardFrameProps) {
  const texts = useStrings(approvalsStrings);
  const heading = useId();
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isSelected) return;
    card.current?.focus({ preventScroll: true });
    card.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  const { kind } = approval;
  const [name, server] = [visibleText(approval.tool), visibleText(approval.server)];
  const headings = { approval: name, question: texts.questionOf(server), sign_in: texts.signInOf(server) };
  return (
    <article
      ref={card}
      tabIndex={-1}
      aria-labelledby={heading}
      aria-current={isSelected ? 'true' : undefined}
      className={isSelected ? `${styles.card} ${styles.selected}` : styles.card}
    >
      <header className={styles.header}>
        <h2 id={heading} className={styles.name}>
          {headings[kind]}
        </h2>
        <span className={styles.server}>{kind === 'approval' ? server : name}</span>
        {kind !== 'approval' && <Badge tone="accent">{kind === 'question' ? texts.question : texts.signIn}</Badge>}
        <span className={styles.aside}>{aside}</span>
        <Link
          to="/approvals/{-$id}"
          params={{ id: approval.id }}
          className={styles.link}
          aria-label={texts.openLink(name)}
          title={texts.openLink(name)}
        >
          <Icon name="chevron" size={14} />
        </Link>
      </header>
      {children}
    </article>
  );
}
