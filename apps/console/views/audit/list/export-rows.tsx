// The rows that the filters find, as one file.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { notifyFailure } from '../../../widgets/notices.js';
import { saveFile } from '../../../widgets/save-file.js';
import { auditStrings } from '../strings.js';
import type { AuditFilterValues } from './audit-filters.js';

export function ExportRows({ filters }: { filters: AuditFilterValues }) {
  const texts = useStrings(auditStrings);
  const [busy, setBusy] = useState<string>();
  async function save(format: 'ndjson' | 'csv') {
    setBusy(format);
    try {
      const answer = await api.operations.exportAudit({ ...filters, format });
      saveFile(`audit.${format}`, await answer.blob());
    } catch (error) {
      notifyFailure(error);
    } finally {
      setBusy(undefined);
    }
  }
  const button = (format: 'ndjson' | 'csv', title: string) => (
    <Button className={buttons.button} isDisabled={busy !== undefined} onPress={() => void save(format)}>
      {busy === format ? texts.exporting : title}
    </Button>
  );
  return (
    <>
      {button('ndjson', texts.exportNdjson)}
      {button('csv', texts.exportCsv)}
    </>
  );
}
