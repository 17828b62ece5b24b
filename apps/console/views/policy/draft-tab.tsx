// A draft of the policy: written, checked while it is written, simulated over past calls, and copied into its file. Nothing is changed
// from here.
import { SignalboxError, type TextProblem } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useExternal } from '../../api/external-value.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { DraftProblems } from '../../widgets/policy/draft-problems.js';
import { keepPolicyDraft, policyDraft } from '../../widgets/policy/policy-draft.js';
import { Simulation } from '../../widgets/policy/simulation.js';
import { useSimulation } from '../../widgets/policy/use-simulation.js';
import { useSettled } from '../../widgets/use-settled.js';
import { CopyButton } from '../../widgets/shown/copy-button.js';
import { Failure, Loading } from '../../widgets/states.js';
import { policyStrings } from './strings.js';
import { usePolicy } from './use-policy.js';
import styles from './policy.module.css';

const YamlEditor = lazy(() => import('../../widgets/yaml/yaml-editor.js'));
const dayMs = 86_400_000;
const periods = [1, 7, 30, 90];
const noProblems: readonly TextProblem[] = [];

export function DraftTab() {
  const { data, error, refetch } = usePolicy();
  if (data === undefined)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
  return <Draft inForce={data.text} source={data.source} />;
}

function Draft({ inForce, source }: { inForce: string; source: { kind: 'config' | 'file'; name: string } }) {
  const texts = useStrings(policyStrings);
  const kept = useExternal(policyDraft);
  const text = kept ?? inForce;
  const problems = useProblems(text);
  const [{ days }, change] = useFilters(['days']);
  const period = periods.find((each) => String(each) === days) ?? 7;
  const { now, start, cancel } = useSimulation();
  return (
    <div className={styles.part}>
      <p className={styles.soft}>
        {texts.belongs(source.name, source.kind === 'file')} {texts.noComments}
      </p>
      <Suspense fallback={<Loading />}>
        <YamlEditor
          label={texts.draft}
          value={text}
          onChange={(next) => keepPolicyDraft(next === inForce ? null : next)}
          problems={problems}
        />
      </Suspense>
      <DraftProblems problems={problems} />
      <div className={bar.bar}>
        <select
          aria-label={texts.period}
          className={bar.choice}
          value={period}
          onChange={({ target }) => change({ days: target.value })}
        >
          {periods.map((each) => (
            <option key={each} value={each}>
              {texts.lastDays(each)}
            </option>
          ))}
        </select>
        <Button
          className={`${buttons.button} ${buttons.primary}`}
          isDisabled={now.state === 'running'}
          onPress={() => start({ policy: text, since: new Date(Date.now() - period * dayMs).toISOString() })}
        >
          {texts.simulate}
        </Button>
        <CopyButton text={text} isWorded />
        {kept !== null && (
          <Button className={buttons.button} onPress={() => keepPolicyDraft(null)}>
            {texts.discard}
          </Button>
        )}
      </div>
      <Simulation now={now} onCancel={cancel} />
    </div>
  );
}

/** Asked when the typing pauses: a simulation over no time only reads the draft. */
function useProblems(text: string): readonly TextProblem[] {
  const settled = useSettled(text);
  const { data = noProblems } = useQuery({
    queryKey: ['policy', 'problems', settled],
    queryFn: async ({ signal }) => {
      const now = new Date().toISOString();
      try {
        for await (const event of api.operations.policy.simulate(
          { policy: settled, since: now, until: now },
          { signal },
        ))
          void event;
        return noProblems;
      } catch (error) {
        if (error instanceof SignalboxError && error.problems !== undefined) return error.problems;
        throw error;
      }
    },
    // A text is as right or wrong as before.
    staleTime: Infinity,
    gcTime: 0,
  });
  return data;
}
