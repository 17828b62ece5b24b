// What a call that waits, or waited, is: who asks, which rule, why, with which arguments, and what the same caller was allowed before.
import type { Approval } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { api } from '../../api/api.js';
import { useMay, useMe } from '../../api/me.js';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import type { Schema } from '../../widgets/forms/form-schema.js';
import { SchemaValues } from '../../widgets/forms/schema-values.js';
import { StateBadge } from '../../widgets/shown/badge.js';
import { Fact, Facts } from '../../widgets/shown/facts.js';
import { LongText } from '../../widgets/shown/long-text.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading } from '../../widgets/states.js';
import { Outcome } from './outcome.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

const schemaFreshMs = 60_000;
const mostBefore = 5;

/** Undefined while it is not known, and for callers who may not see the tool: then values are shown without their schema. */
export function useArgumentsSchema({ tool, kind }: Approval): Schema | undefined {
  // Reads of resources and prompts have their method as the name, which no tool has.
  const may = useMay('tools') === true && kind !== 'question' && !tool.includes('/');
  const { data } = useQuery({
    queryKey: ['tools', 'one', tool],
    queryFn: ({ signal }) => api.tools.get(tool, { signal }),
    enabled: may,
    staleTime: schemaFreshMs,
  });
  return data?.function.parameters;
}

/** Where this person signs in. Undefined for what is no sign-in, and for that of somebody else. */
export function useSignInAddress(): (approval: Approval) => string | undefined {
  const principal = useMe()?.principal;
  return (approval) => (approval.principal === principal ? (approval.authorization_url ?? undefined) : undefined);
}

export function ApprovalFacts({ approval, isOpen = false }: { approval: Approval; isOpen?: boolean }) {
  const texts = useStrings(approvalsStrings);
  const schema = useArgumentsSchema(approval);
  // Others do not see into a session; their runs are for administrators.
  const mayChat = useMay('chat') === true;
  const isMine = useMe()?.principal === approval.principal;
  const isOwn = isMine && mayChat;
  const isAdmin = useMay('admin') === true && mayChat;
  const { kind, principal, rule, reason, session_id: session, run_id: run, message, state, scopes = [] } = approval;
  const goesOn = run === null ? texts.callGoesOn : texts.runGoesOn;
  return (
    <>
      {kind === 'question' && message !== null && (
        <div className={styles.message}>
          <LongText text={message} />
        </div>
      )}
      {kind === 'sign_in' && state === 'waiting' && (
        <p>{isMine ? texts.signInYours(goesOn) : texts.signInOthers(visibleText(principal), goesOn)}</p>
      )}
      <Facts layout="line">
        <Fact name={kind === 'sign_in' ? texts.mustSignIn : texts.asks}>{visibleText(principal)}</Fact>
        {scopes.length > 0 && <Fact name={texts.wantedScopes}>{scopes.map(visibleText).join(', ')}</Fact>}
        {kind === 'approval' && (
          <>
            <Fact name={texts.why}>{reason === null ? texts.noReason : <LongText text={reason} />}</Fact>
            <Fact name={texts.rule}>{rule === null ? texts.noRule : <code>{visibleText(rule)}</code>}</Fact>
          </>
        )}
        <Fact name={texts.since}>
          <TimeAgo time={approval.created_at} />
        </Fact>
        <Fact name={texts.session}>
          {isOwn ? (
            <Link to="/sessions/{-$id}" params={{ id: session }}>
              {visibleText(session)}
            </Link>
          ) : (
            visibleText(session)
          )}
        </Fact>
        {run !== null && (
          <Fact name={texts.run}>
            {isOwn || isAdmin ? (
              <Link to="/runs/$id" params={{ id: run }}>
                {visibleText(run)}
              </Link>
            ) : (
              visibleText(run)
            )}
          </Fact>
        )}
      </Facts>
      <section aria-label={texts.arguments} className={styles.arguments}>
        <SchemaValues schema={schema} value={approval.arguments} />
      </section>
      {kind === 'approval' && <Before key={String(isOpen)} approval={approval} isOpen={isOpen} />}
    </>
  );
}

/** Asked for only when somebody wants to see it. */
function Before({ approval, isOpen: opensFirst }: { approval: Approval; isOpen: boolean }) {
  const texts = useStrings(approvalsStrings);
  const [isOpen, setOpen] = useState(opensFirst);
  const id = useId();
  const { principal, tool } = approval;
  const { data, error, refetch } = useQuery({
    queryKey: ['approvals', 'before', principal, tool],
    queryFn: ({ signal }) =>
      api.approvals.list({ principal, tool, state: ['approved', 'denied'], limit: mostBefore, signal }),
    enabled: isOpen,
  });
  const rows = data?.data.filter((each) => each.id !== approval.id);
  return (
    <div className={styles.before}>
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="chevron" size={10} />
        {texts.before(visibleText(principal))}
      </button>
      {isOpen && (
        <div id={id} className={styles.earlier}>
          {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
          {rows === undefined && error === null && <Loading />}
          {rows?.length === 0 && <p className={styles.soft}>{texts.beforeNone}</p>}
          {rows?.map((each) => (
            <Earlier key={each.id} approval={each} />
          ))}
        </div>
      )}
    </div>
  );
}

function Earlier({ approval }: { approval: Approval }) {
  return (
    <div className={styles.one}>
      <Link to="/approvals/{-$id}" params={{ id: approval.id }}>
        <StateBadge state={approval.state} />
      </Link>
      <div>
        <Outcome approval={approval} />
        <SchemaValues value={approval.arguments} />
      </div>
    </div>
  );
}
