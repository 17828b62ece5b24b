// What the policy says to the caller about a tool, before it is called.
import type { JsonObject, Tool } from '@signalbox/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import { EffectBadge } from '../../widgets/policy/effect-badge.js';
import { policyNameOf } from '../../widgets/policy/policy-name.js';
import { useSettled } from '../../widgets/use-settled.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { toolsStrings } from './strings.js';
import styles from './tools.module.css';

export function VerdictBadge({ tool: { verdict } }: { tool: Tool }) {
  const texts = useStrings(toolsStrings);
  if (verdict === undefined) return null;
  return (
    <span title={verdict.depends ? texts.verdictDepends : undefined}>
      <EffectBadge effect={verdict.effect} />
      {verdict.depends && ' *'}
    </span>
  );
}

/** The verdict of the call as it is typed: the gateway is asked where arguments may change it. */
export function Verdict({ tool, given }: { tool: Tool; given: JsonObject }) {
  const texts = useStrings(toolsStrings);
  const { verdict } = tool;
  const name = policyNameOf(tool);
  const asked = useSettled(JSON.stringify(given));
  const explained = useQuery({
    queryKey: ['policy', 'explain', name, asked],
    queryFn: ({ signal }) =>
      api.operations.policy.explain({ tool: name, arguments: JSON.parse(asked) as JsonObject }, { signal }),
    enabled: verdict?.depends === true,
    placeholderData: keepPreviousData,
  });
  if (verdict === undefined) return null;
  const decision = explained.data?.decision ?? undefined;
  const { effect, rule } = decision ?? verdict;
  const sentences = { allow: texts.verdictAllow, require_approval: texts.verdictAsk, deny: texts.verdictDeny };
  return (
    <p className={styles.soft} role="status">
      {sentences[effect](visibleText(rule))}
      {verdict.depends && decision === undefined && ` ${texts.verdictDepends}`}
    </p>
  );
}
