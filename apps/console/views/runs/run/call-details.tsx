// What is known of a tool call: what became of it, what was sent and returned, what the policy said, and its row of the audit.
import { Link } from '@tanstack/react-router';
import type { ShownCall } from '@signalbox/client';
import { errorWords } from '../../../api/error-words.js';
import { useMay } from '../../../api/me.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import { ToolApp } from '../../../widgets/apps/tool-app.js';
import { SchemaValues } from '../../../widgets/forms/schema-values.js';
import { StateBadge } from '../../../widgets/shown/badge.js';
import { CopyButton } from '../../../widgets/shown/copy-button.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Tabs } from '../../../widgets/tabs.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { runStrings } from './run-strings.js';
import { sourceOf } from './replayed-result.js';
import { SignInsOfCall } from './sign-ins-of-call.js';
import type { PartKind } from './timeline.js';
import styles from './run.module.css';

/** Which tab of the panel is open. */
export interface PanelTabs {
  tab: string | undefined;
  onTab: (tab: string) => void;
}

/** What the part that was chosen is mostly about. */
const firstTabs: Partial<Record<PartKind, string>> = { policy: 'policy', person: 'policy', tool: 'values' };

export interface CallDetailsProps {
  call: ShownCall;
  /** Who has to sign in where the call asks for it. */
  caller: string;
  kind: PartKind;
  tabs: PanelTabs;
}

export function CallDetails({ call, caller, kind, tabs }: CallDetailsProps) {
  const texts = useStrings(runStrings);
  return (
    <Tabs
      label={texts.part}
      chosen={tabs.tab ?? firstTabs[kind]}
      onChoose={tabs.onTab}
      tabs={[
        { id: 'overview', title: texts.overview, content: <Overview call={call} caller={caller} /> },
        { id: 'values', title: texts.argumentsAndResult, content: <Values call={call} /> },
        { id: 'policy', title: texts.policy, content: <Policy call={call} /> },
        { id: 'audit', title: texts.audit, content: <Audit call={call} /> },
      ]}
    />
  );
}

function Overview({ call, caller }: Pick<CallDetailsProps, 'call' | 'caller'>) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  const { language } = useLanguage();
  const time = (text: string | null) => (text === null ? '–' : formats.time(new Date(text)));
  const length = (ms: number | null) => (ms === null ? '–' : formats.duration(ms));
  const { error } = (call.result ?? {}) as { error?: { code?: unknown } };
  const waitsForSignIn = call.state === 'parked' && call.sign_ins?.at(-1)?.state === 'waiting';
  const failure = typeof error?.code === 'string' ? (errorWords(error.code, language) ?? error.code) : undefined;
  return (
    <div className={styles.details}>
      <p>
        <StateBadge state={call.state} />
      </p>
      <p>{waitsForSignIn ? texts.callNeedsSignIn : (texts[`call_${call.state}`] ?? visibleText(call.state))}</p>
      {failure !== undefined && call.state !== 'indeterminate' && <p>{visibleText(failure)}</p>}
      {call.replayed !== null && call.replayed !== undefined && (
        <p>{[texts.replayedCall, ...sourceOf(call, texts)].join(' · ')}</p>
      )}
      {call.attempts > 1 && call.state !== 'indeterminate' && <p>{texts.repeated(call.attempts)}</p>}
      <SignInsOfCall call={call} caller={caller} />
      <Facts>
        <Fact name={texts.call}>
          {visibleText(call.id)} <CopyButton text={call.id} label={texts.copyId} />
        </Fact>
        {call.kind === 'client' && <Fact name={texts.tool}>{texts.byCaller}</Fact>}
        <Fact name={texts.planned}>{time(call.planned_at)}</Fact>
        <Fact name={texts.personWait}>{length(call.person_wait_ms === 0 ? null : call.person_wait_ms)}</Fact>
        <Fact name={texts.queueWait}>{length(call.queue_wait_ms)}</Fact>
        <Fact name={texts.started}>{time(call.started_at)}</Fact>
        <Fact name={texts.ran}>{length(call.duration_ms)}</Fact>
        <Fact name={texts.ended}>{time(call.ended_at)}</Fact>
        <Fact name={texts.tool}>{texts.attempts(call.attempts)}</Fact>
        <Fact name={texts.worker}>{visibleText(call.worker ?? '–')}</Fact>
        <Fact name={texts.isolation}>{visibleText(call.isolation ?? '–')}</Fact>
      </Facts>
      {call.cached && <p>{texts.cached}</p>}
      {call.truncated && <p>{texts.truncated}</p>}
    </div>
  );
}

function Values({ call }: { call: ShownCall }) {
  const texts = useStrings(runStrings);
  return (
    <div className={styles.details}>
      <h3>{texts.arguments}</h3>
      <SchemaValues value={call.arguments} />
      <h3>{texts.result}</h3>
      {call.result === null ? (
        <p className={styles.soft}>{texts.noResult}</p>
      ) : (
        <LongText text={call.result.content} isCode />
      )}
      {call.result !== null && call.kind === 'server' && <ToolApp callId={call.id} name={call.name} />}
    </div>
  );
}

function Policy({ call: { policy, approval } }: { call: ShownCall }) {
  const texts = useStrings(runStrings);
  const formats = useFormats();
  if (policy === null && approval === null) return <p className={styles.soft}>{texts.noPolicy}</p>;
  return (
    <div className={styles.details}>
      <Facts>
        {policy !== null && (
          <>
            <Fact name={texts.verdict}>{texts[`verdict_${policy.verdict}`] ?? policy.verdict}</Fact>
            <Fact name={texts.rule}>
              {policy.rule === null ? texts.noRule : <code>{visibleText(policy.rule)}</code>}
            </Fact>
          </>
        )}
        {approval !== null && (
          <>
            {approval.reason !== null && <Fact name={texts.why}>{visibleText(approval.reason)}</Fact>}
            <Fact name={texts.approval}>
              <StateBadge state={approval.state} />
            </Fact>
            {approval.decided_by !== null && <Fact name={texts.decidedBy}>{visibleText(approval.decided_by)}</Fact>}
            {approval.decided_at !== null && (
              <Fact name={texts.decidedAt}>{formats.time(new Date(approval.decided_at))}</Fact>
            )}
            {approval.decision_reason !== null && (
              <Fact name={texts.decisionReason}>{visibleText(approval.decision_reason)}</Fact>
            )}
            {approval.decided_at === null && (
              <Fact name={texts.expires}>{formats.time(new Date(approval.expires_at))}</Fact>
            )}
          </>
        )}
      </Facts>
      {approval?.edited === true && <p>{texts.edited}</p>}
      {approval !== null && (
        <p>
          <Link to="/approvals/{-$id}" params={{ id: approval.id }}>
            {texts.openApproval}
          </Link>
        </p>
      )}
    </div>
  );
}

function Audit({ call: { audit_id: id, trace_id: traceId, trace_url: traceUrl, replayed } }: { call: ShownCall }) {
  const texts = useStrings(runStrings);
  const isAdmin = useMay('admin') === true;
  if (id === null) {
    return <p className={styles.soft}>{typeof replayed === 'string' ? texts.noAuditOfReplay : texts.noAudit}</p>;
  }
  return (
    <div className={styles.details}>
      <Facts>
        <Fact name={texts.auditRow}>
          <code>{visibleText(id)}</code> <CopyButton text={id} label={texts.copyId} />
        </Fact>
        {typeof traceId === 'string' && (
          <Fact name={texts.trace}>
            {typeof traceUrl === 'string' && /^https?:/.test(traceUrl) ? (
              <a href={traceUrl} target="_blank" rel="noreferrer">
                {visibleText(traceId)}
              </a>
            ) : (
              <code>{visibleText(traceId)}</code>
            )}{' '}
            <CopyButton text={traceId} label={texts.copyId} />
          </Fact>
        )}
      </Facts>
      {isAdmin ? (
        <p>
          <Link to="/audit" search={{ id }}>
            {texts.openAudit}
          </Link>
        </p>
      ) : (
        <p className={styles.soft}>{texts.auditForAdmins}</p>
      )}
    </div>
  );
}
