// The audit: who did what, whether it is as it was written, and the proof of one row.
import { Link } from '@tanstack/react-router';
import type { AuditRow } from '@signalbox/client';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useMe } from '../../api/me.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { DropArea, OpenFileButton } from '../../widgets/files/open-file.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { ListDetail } from '../../widgets/lists/list-detail.js';
import { PagedTable } from '../../widgets/lists/paged-table.js';
import { usePages } from '../../widgets/lists/pages.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { useAuditShapes } from './list/audit-columns.js';
import { AuditFilters, auditFilterNames } from './list/audit-filters.js';
import { kindWord, subjectOf } from './list/kind-words.js';
import { ExportRows } from './list/export-rows.js';
import { type ProofFile, ProofResult, readProofFile } from './proof/proof-result.js';
import { RowDetail } from './row/row-detail.js';
import { auditStrings } from './strings.js';
import { useVerification } from './verify/use-verification.js';
import { Verification } from './verify/verification.js';
import styles from './audit.module.css';

const pageSize = 100;

export default function AuditView() {
  const texts = useStrings(auditStrings);
  const { language } = useLanguage();
  const [filters, change] = useFilters(auditFilterNames);
  const [{ id }, choose] = useFilters(['id']);
  const [proof, setProof] = useState<ProofFile>();
  const verification = useVerification();
  const pages = usePages<AuditRow>({
    queryKey: ['audit', 'list', filters],
    load: (cursor, signal) => api.operations.audit({ ...filters, limit: pageSize, cursor, signal }),
  });
  const { columns, card } = useAuditShapes(id !== undefined);
  const chosen = pages.rows.find((row) => row.id === id);
  const subject = chosen === undefined ? '' : subjectOf(chosen) || kindWord(chosen.kind, language);
  const heading = subject === '' ? texts.row : visibleText(subject);
  const open = (file: File) => void readProofFile(file).then(setProof);
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <>
          <Button
            className={`${buttons.button} ${buttons.primary}`}
            isDisabled={verification.state?.kind === 'running'}
            onPress={() => verification.start(filters.since)}
          >
            {texts.verify}
          </Button>
          <OpenFileButton title={texts.openProof} accept="application/json,.json" open={open} />
          <ExportRows filters={filters} />
          <Button className={buttons.button} onPress={pages.reload}>
            {texts.refresh}
          </Button>
        </>
      }
    >
      <DropArea title={texts.dropHere} open={open}>
        <Verification verification={verification} />
        {proof !== undefined && (
          <section className={styles.box} aria-label={visibleText(proof.name)}>
            <div className={styles.boxContent}>
              <h2 className={styles.cut}>{visibleText(proof.name)}</h2>
              <ProofResult file={proof} />
            </div>
            <Button className={buttons.button} onPress={() => setProof(undefined)}>
              {texts.close}
            </Button>
          </section>
        )}
        <AuditFilters filters={filters} change={change} />
        <ListDetail
          onClose={() => choose({ id: undefined })}
          detail={id === undefined ? undefined : { heading, content: <RowDetail key={id} id={id} /> }}
        >
          <PagedTable
            label={texts.title}
            pages={pages}
            columns={columns}
            card={card}
            rowKey={(row) => row.id}
            chosen={id}
            onOpen={(row) => choose({ id: row.id })}
            empty={<Empty isFiltered={Object.keys(filters).length > 0} />}
          />
        </ListDetail>
      </DropArea>
    </Page>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  const texts = useStrings(auditStrings);
  const isOpen = useMe()?.sign_in.open === true;
  if (isFiltered) return <Notice heading={texts.noMatch} text={texts.noMatchText} />;
  const key = isOpen ? '' : ` -H "authorization: Bearer $SIGNALBOX_API_KEY"`;
  const body = `{"name": "current_time", "arguments": {}}`;
  return (
    <Notice heading={texts.emptyHeading} text={texts.emptyText}>
      <Link to="/tools" className={`${buttons.button} ${buttons.primary}`}>
        {texts.callTool}
      </Link>
      <Command text={`curl ${gatewayUrl}/api/tools/call -H 'content-type: application/json'${key} -d '${body}'`} />
    </Notice>
  );
}
