// Asks for the proof of a row, keeps it as a file, and checks it here: what the gateway says of itself is not believed.
import { useMutation } from '@tanstack/react-query';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { saveFile } from '../../../widgets/save-file.js';
import { Failure } from '../../../widgets/states.js';
import { auditStrings } from '../strings.js';
import styles from '../audit.module.css';
import { ProofResult } from './proof-result.js';

export function ProveRow({ id }: { id: string }) {
  const texts = useStrings(auditStrings);
  const proving = useMutation({
    mutationFn: async () => {
      const text = await api.operations.auditProof(id);
      saveFile(`audit-${id}.json`, text);
      return { name: `audit-${id}.json`, text };
    },
  });
  return (
    <section className={styles.details} aria-label={texts.proof}>
      <div className={styles.line}>
        <Button className={buttons.button} isDisabled={proving.isPending} onPress={() => proving.mutate()}>
          {texts.prove}
        </Button>
        <span className={styles.soft}>{texts.proveHint}</span>
      </div>
      {proving.isError && <Failure error={proving.error} />}
      {proving.data !== undefined && <ProofResult key={proving.submittedAt} file={proving.data} />}
    </section>
  );
}
