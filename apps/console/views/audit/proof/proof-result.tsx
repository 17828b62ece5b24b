// What a proof proves, checked in the browser. A public key that is given is believed, one in the file is only named.
import { useEffect, useState } from 'react';
import { checkProof, longestProof, NoPublicKey } from '#libs/audit/proof/check-proof.js';
import type { ProofCheck, ProvenRow } from '#libs/audit/proof/audit-proof.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import { Labelled } from '../../../widgets/forms/labelled.js';
import { Badge } from '../../../widgets/shown/badge.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { JsonView } from '../../../widgets/shown/json-view.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { CopiedText } from '../copied-text.js';
import { kindWord } from '../list/kind-words.js';
import { auditStrings } from '../strings.js';
import styles from '../audit.module.css';

export interface ProofFile {
  name: string;
  text: string;
}

/** A file that is too long is no proof, and is not read. */
export const readProofFile = async (file: File): Promise<ProofFile> => ({
  name: file.name,
  text: file.size > longestProof ? '' : await file.text(),
});

type Checked = ProofCheck | { problem: 'noCrypto' | 'noPublicKey' };

export function ProofResult({ file }: { file: ProofFile }) {
  const texts = useStrings(auditStrings);
  const [pem, setPem] = useState('');
  const checked = useCheck(file.text, pem.trim());
  const problem = checked !== undefined && 'problem' in checked ? checked.problem : undefined;
  const isProof = checked !== undefined && !('fault' in checked && checked.fault === 'format');
  return (
    <div className={styles.details}>
      <div role="status" aria-label={texts.proof} className={styles.details}>
        {checked === undefined && texts.checking}
        {problem === 'noCrypto' && <p>{texts.noCrypto}</p>}
        {checked !== undefined && 'fault' in checked && (
          <>
            <p>
              <Badge tone="bad">{texts.notProved}</Badge>
            </p>
            <p>{texts[`fault_${checked.fault}`]}</p>
          </>
        )}
        {checked !== undefined && 'proven' in checked && <Proven proven={checked.proven} />}
      </div>
      {isProof && problem !== 'noCrypto' && (
        <Labelled
          label={texts.publicKey}
          about={texts.publicKeyAbout}
          problem={problem === 'noPublicKey' ? texts.noPublicKey : undefined}
        >
          {(field) => (
            <textarea
              {...field}
              className={styles.pem}
              rows={3}
              spellCheck={false}
              placeholder="-----BEGIN PUBLIC KEY-----"
              value={pem}
              onChange={({ target }) => setPem(target.value)}
            />
          )}
        </Labelled>
      )}
    </div>
  );
}

const tones = { given: 'good', own: 'accent', unchecked: 'warn', unsupported: 'warn', none: 'warn' } as const;

function Proven({ proven }: { proven: ProvenRow }) {
  const texts = useStrings(auditStrings);
  const formats = useFormats();
  const { language } = useLanguage();
  const { row, chain, position, rowsAfter, checkpoint, signature, keyId } = proven;
  const at = (time: unknown) => formats.time(new Date(String(time)));
  return (
    <>
      <p>
        <Badge tone={tones[signature]}>
          {signature === 'given' ? texts.proved : signature === 'own' ? texts.provedByOwn : texts.consistent}
        </Badge>
      </p>
      <p>{texts[`signature_${signature}`]}</p>
      <p className={styles.soft}>
        {texts.provedText(
          formats.number(position),
          String(chain),
          formats.number(rowsAfter),
          visibleText(checkpoint.number),
        )}
      </p>
      <Facts>
        <Fact name={texts.time}>{at(row['at'])}</Fact>
        <Fact name={texts.kind}>{visibleText(kindWord(String(row['kind']), language))}</Fact>
        <Fact name={texts.principal}>{visibleText(String(row['principal']))}</Fact>
        <Fact name={texts.row}>
          <code>{String(row['id'])}</code>
        </Fact>
        <Fact name={texts.checkpoint}>
          {visibleText(checkpoint.number)} · {at(checkpoint.at)}
          <CopiedText text={checkpoint.hash} label={texts.copyHash} />
        </Fact>
        {keyId !== undefined && (
          <Fact name={texts.keyId}>
            <CopiedText text={keyId} label={texts.copyId} />
          </Fact>
        )}
      </Facts>
      <JsonView value={row} open={0} />
    </>
  );
}

function useCheck(text: string, pem: string): Checked | undefined {
  const [checked, setChecked] = useState<{ text: string; pem: string; found: Checked }>();
  useEffect(() => {
    let isOver = false;
    void check(text, pem).then((found) => isOver || setChecked({ text, pem, found }));
    return () => {
      isOver = true;
    };
  }, [text, pem]);
  return checked?.text === text && checked.pem === pem ? checked.found : undefined;
}

async function check(text: string, pem: string): Promise<Checked> {
  if (globalThis.crypto.subtle === undefined) return { problem: 'noCrypto' };
  try {
    return await checkProof(text, pem === '' ? [] : [pem]);
  } catch (error) {
    if (error instanceof NoPublicKey) return { problem: 'noPublicKey' };
    throw error;
  }
}
