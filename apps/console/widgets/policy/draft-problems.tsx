// The mistakes in a draft of the policy, each with its place.
import type { TextProblem } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { visibleText } from '../shown/visible-text.js';
import styles from './draft-problems.module.css';
import { policyWords } from './policy-strings.js';

export function DraftProblems({ problems }: { problems: readonly TextProblem[] }) {
  const texts = useStrings(policyWords);
  if (problems.length === 0) return null;
  return (
    <ul className={styles.problems} aria-label={texts.problems}>
      {problems.map((problem, at) => (
        <li key={at}>
          {problem.line !== undefined && `${texts.place(problem.line, problem.column ?? 1)} `}
          {problem.key !== undefined && <code>{visibleText(problem.key)}</code>} {visibleText(problem.message)}
        </li>
      ))}
    </ul>
  );
}
