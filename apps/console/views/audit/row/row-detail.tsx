// One row whole: who, what, with which outcome, its place in the chain, and its proof.
import { Link } from '@tanstack/react-router';
import type { AuditRow } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../../api/api.js';
import { errorWords } from '../../../api/error-words.js';
import { useMe } from '../../../api/me.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import { CopyButton } from '../../../widgets/shown/copy-button.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { JsonView } from '../../../widgets/shown/json-view.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure, Loading } from '../../../widgets/states.js';
import { Tabs } from '../../../widgets/tabs.js';
import { CopiedText } from '../copied-text.js';
import { RowOutcome } from '../list/audit-columns.js';
import { kindWord } from '../list/kind-words.js';
import { ProveRow } from '../proof/prove-row.js';
import { auditStrings } from '../strings.js';
import styles from '../audit.module.css';

export function RowDetail({ id }: { id: string }) {
  const texts = useStrings(auditStrings);
  const [tab, setTab] = useState('overview');
  const { data, error, refetch } = useQuery({
    queryKey: ['audit', 'row', id],
    queryFn: ({ signal }) => api.operations.auditRow(id, { signal }),
  });
  if (data === undefined)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <Tabs
      label={texts.row}
      chosen={tab}
      onChoose={setTab}
      tabs={[
        { id: 'overview', title: texts.overview, content: <Overview row={data} /> },
        { id: 'values', title: texts.values, content: <Values row={data} /> },
        { id: 'chain', title: texts.chain, content: <Chain row={data} /> },
      ]}
    />
  );
}

function Overview({ row }: { row: AuditRow }) {
  const texts = useStrings(auditStrings);
  const formats = useFormats();
  const { language } = useLanguage();
  const isOwn = useMe()?.principal === row.principal;
  const fact = (name: string, value: string | number | null, shown?: ReactNode) =>
    value === null || value === '' ? null : <Fact name={name}>{shown ?? visibleText(String(value))}</Fact>;
  const length = (ms: number | null) => (ms === null ? null : formats.duration(ms));
  const { session_id: session, run_id: run, key_id: key, approval_id: approval } = row;
  return (
    <div className={styles.details}>
      <RowOutcome
        row={row}
        word={row.error_code === null ? undefined : (errorWords(row.error_code, language) ?? row.error_code)}
      />
      <Facts>
        <Fact name={texts.time}>{formats.time(new Date(row.at))}</Fact>
        <Fact name={texts.kind}>{visibleText(kindWord(row.kind, language))}</Fact>
        {fact(texts.tool, row.tool, visibleText([row.server, row.tool].filter(Boolean).join('/')))}
        {row.name !== row.tool && fact(texts.calledAs, row.name)}
        {fact(texts.principal, row.principal)}
        {key !== null && (
          <Fact name={texts.key}>
            <Link to="/keys" search={{ id: key }}>
              {visibleText(key)}
            </Link>
          </Fact>
        )}
        {fact(texts.address, row.ip)}
        {run !== null && (
          <Fact name={texts.run}>
            <Link to="/runs/$id" params={{ id: run }}>
              {visibleText(run)}
            </Link>
          </Fact>
        )}
        {session !== null && (
          <Fact name={texts.session}>
            {isOwn ? (
              <Link to="/sessions/{-$id}" params={{ id: session }}>
                {visibleText(session)}
              </Link>
            ) : (
              visibleText(session)
            )}{' '}
            ·{' '}
            <Link to="/audit" search={{ session }}>
              {texts.rowsOfSession}
            </Link>
          </Fact>
        )}
        {fact(texts.model, row.model)}
        {fact(texts.round, row.round)}
        {fact(texts.rule, row.policy_rule)}
        {approval !== null && (
          <Fact name={texts.approval}>
            <Link to="/approvals/{-$id}" params={{ id: approval }}>
              {visibleText(approval)}
            </Link>
          </Fact>
        )}
        {fact(texts.approver, row.approver)}
        {fact(texts.duration, length(row.duration_ms))}
        {fact(texts.queueWait, length(row.queue_wait_ms))}
        {row.cached === true && <Fact name={texts.cached}>{texts.yes}</Fact>}
        {fact(texts.attempt, row.attempt)}
        {fact(texts.worker, row.worker)}
        {fact(texts.isolation, row.isolation)}
        {fact(texts.call, row.call_id)}
        {fact(texts.request, row.request_id)}
        {fact(texts.trace, row.trace_id)}
        <Fact name={texts.row}>
          <CopiedText text={row.id} label={texts.copyId} />
        </Fact>
      </Facts>
      <p>
        <CopyButton text={() => JSON.stringify(row, null, 2)} label={texts.copyRow} isWorded />
      </p>
    </div>
  );
}

function Values({ row }: { row: AuditRow }) {
  const texts = useStrings(auditStrings);
  return (
    <div className={styles.details}>
      <h3>{texts.arguments}</h3>
      <Value text={row.arguments} digest={row.arguments_digest} />
      <h3>{texts.result}</h3>
      <Value text={row.result} digest={row.result_digest} />
      {row.definition_hash !== null && (
        <Facts>
          <Fact name={texts.definition}>
            <code>{row.definition_hash}</code>
          </Fact>
        </Facts>
      )}
    </div>
  );
}

function Value({ text, digest }: { text: string | null; digest: string | null }) {
  const texts = useStrings(auditStrings);
  if (text === null) return <p className={styles.soft}>{texts.none}</p>;
  const value = parsed(text);
  return (
    <>
      {value === undefined ? <LongText text={text} isCode /> : <JsonView value={value} />}
      {digest !== null && (
        <Facts>
          <Fact name={texts.digest}>
            <code>{digest}</code>
          </Fact>
        </Facts>
      )}
    </>
  );
}

/** Objects and lists only. A text that was shortened is no JSON any more. */
function parsed(text: string): object | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function Chain({ row }: { row: AuditRow }) {
  const texts = useStrings(auditStrings);
  const formats = useFormats();
  if (row.hash === null || row.position === null) return <p>{texts.noHash}</p>;
  return (
    <div className={styles.details}>
      <p className={styles.soft}>{texts.chainAbout}</p>
      <Facts>
        <Fact name={texts.chainNumber}>{row.chain}</Fact>
        <Fact name={texts.position}>{formats.number(row.position)}</Fact>
        <Fact name={texts.hash}>
          <CopiedText text={row.hash} label={texts.copyHash} />
        </Fact>
        <Fact name={texts.previousHash}>
          {row.previous_hash === '' ? texts.firstOfChain : <code>{row.previous_hash}</code>}
        </Fact>
      </Facts>
      <ProveRow id={row.id} />
    </div>
  );
}
