// What decides a call, and why the rules before do not.
import type { PolicyExplanation } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { EffectBadge } from '../../widgets/policy/effect-badge.js';
import { LongText } from '../../widgets/shown/long-text.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { policyStrings } from './strings.js';
import styles from './policy.module.css';

export function Explanation({ explanation, isWhole }: { explanation: PolicyExplanation; isWhole: boolean }) {
  const texts = useStrings(policyStrings);
  const { decision, tried, key_allows: keyAllows, arguments_problem: problem, principal } = explanation;
  return (
    <section aria-label={texts.answer} className={styles.answer}>
      {!keyAllows && <p className={styles.bad}>{texts.keyForbids}</p>}
      {decision !== null && (
        <>
          <p className={styles.line}>
            <EffectBadge effect={decision.effect} />
            <span>{decided(decision.rule)}</span>
            <span className={styles.soft}>{texts.forCaller(visibleText(principal))}</span>
          </p>
          {decision.reason !== undefined && <LongText text={decision.reason} />}
        </>
      )}
      {problem !== null && (
        <p className={styles.warn}>
          {texts.argumentsProblem} {visibleText(problem)}
        </p>
      )}
      {tried.some(({ matched }) => !matched) && (
        <>
          <h3>{isWhole ? texts.before : texts.beforeOwn}</h3>
          <ol className={styles.tried}>
            {tried
              .filter(({ matched }) => !matched)
              .map(({ rule, because = '', differs }) => (
                <li key={rule}>
                  <strong>{visibleText(rule)}</strong>
                  {differs !== undefined && ` · ${texts[`differs_${differs}`]}`}
                  <span className={styles.soft}> {visibleText(because)}</span>
                </li>
              ))}
          </ol>
        </>
      )}
    </section>
  );

  function decided(rule: string): string {
    const isDefault = rule === 'default' || rule.startsWith('default:');
    return isDefault ? texts.byDefault(visibleText(rule)) : texts.byRule(visibleText(rule));
  }
}
