// How far a verification is, and what it found, in words.
import { Link } from '@tanstack/react-router';
import type { AuditProgress, AuditVerification } from '@signalbox/client';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Badge } from '../../../widgets/shown/badge.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure } from '../../../widgets/states.js';
import { CopiedText } from '../copied-text.js';
import { auditStrings } from '../strings.js';
import styles from '../audit.module.css';
import type { RunningVerification } from './use-verification.js';

export function Verification({ verification: { state, close } }: { verification: RunningVerification }) {
  const texts = useStrings(auditStrings);
  if (state === undefined) return null;
  return (
    <section className={styles.box} aria-label={texts.verification}>
      <div className={styles.boxContent}>
        {state.kind === 'running' && <Progress progress={state.progress} />}
        {state.kind === 'failed' && <Failure error={state.error} />}
        {state.kind === 'done' && <Result result={state.result} since={state.since} />}
      </div>
      <Button className={buttons.button} onPress={close}>
        {state.kind === 'running' ? texts.cancel : texts.close}
      </Button>
    </section>
  );
}

function Progress({ progress }: { progress: AuditProgress | undefined }) {
  const texts = useStrings(auditStrings);
  const formats = useFormats();
  const { rows = 0, total = 0, chain = null } = progress ?? {};
  const done = progress === undefined ? '' : texts.progress(formats.number(rows), formats.number(total));
  return (
    <div className={styles.details}>
      <div className={styles.line}>
        <strong>{texts.verifying}</strong>
        <span className={styles.soft}>
          {done}
          {chain !== null && ` · ${texts.ofChain(String(chain))}`}
        </span>
      </div>
      <progress className={styles.progress} aria-label={texts.verifying} max={Math.max(total, 1)} value={rows} />
    </div>
  );
}

function Result({ result, since }: { result: AuditVerification; since: string | undefined }) {
  const texts = useStrings(auditStrings);
  const formats = useFormats();
  const { intact, first_broken: first, problems, last_signed_checkpoint: signed } = result;
  const checkpoint = signed ?? result.last_checkpoint;
  return (
    <div className={styles.details} role="status">
      <p>
        <Badge tone={intact ? 'good' : 'bad'}>{intact ? texts.intact : texts.broken}</Badge>
      </p>
      {intact && <p>{texts.intactText}</p>}
      {since !== undefined && <p>{texts.verifiedSince(formats.time(new Date(since)))}</p>}
      {first !== null && (
        <div className={styles.details}>
          <p>{texts.brokenRows(formats.number(result.broken_rows))}</p>
          <p>
            <strong>{texts[`damage_${first.damage}`]}</strong> {formats.time(new Date(first.at))}
            {first.chain !== null && first.position !== null && ` · ${texts.placeOf(first.chain, first.position)}`}
          </p>
          <p className={styles.soft}>
            <code>
              {visibleText(first.id)} {visibleText(first.problem)}
            </code>
          </p>
          <p>
            <Link to="/audit" search={{ id: first.id }} className={buttons.button}>
              {texts.openRow}
            </Link>
          </p>
        </div>
      )}
      {problems.length > 0 && (
        <ul className={styles.problems}>
          {problems.map((problem) => (
            <li key={problem}>
              <code>{visibleText(problem)}</code>
            </li>
          ))}
        </ul>
      )}
      <Facts layout="blocks">
        <Fact name={texts.rowsRead}>{formats.number(result.rows)}</Fact>
        <Fact name={texts.checkpointsRead}>{formats.number(result.checkpoints)}</Fact>
        <Fact name={texts.signatures}>{texts[`signatures_${result.signatures}`]}</Fact>
        <Fact name={signed === null ? texts.lastCheckpoint : texts.lastSigned}>
          {checkpoint === null ? texts.noCheckpoint : `${checkpoint.number} · ${formats.time(new Date(checkpoint.at))}`}
        </Fact>
        {checkpoint !== null && (
          <Fact name={texts.uncovered}>
            {formats.number(result.rows_after_checkpoint)}
            {result.rows_after_checkpoint > 0 && ` (${texts.uncoveredHint})`}
          </Fact>
        )}
      </Facts>
      {checkpoint !== null && (
        <div className={styles.soft}>
          {texts.keepHash}
          <CopiedText text={`${checkpoint.number} ${checkpoint.hash}`} label={texts.copyHash} />
        </div>
      )}
    </div>
  );
}
