// What the policy says to the caller about a tool, before it is called.
import type { Tool } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { Badge } from '../../widgets/shown/badge.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { toolsStrings } from './strings.js';
import styles from './tools.module.css';

const tones = { allow: 'good', require_approval: 'warn', deny: 'bad' } as const;

export function VerdictBadge({ tool: { verdict } }: { tool: Tool }) {
  const texts = useStrings(toolsStrings);
  if (verdict === undefined) return null;
  return (
    <span title={verdict.depends ? texts.verdictDepends : undefined}>
      <Badge tone={tones[verdict.effect]}>
        {texts[verdict.effect]}
        {verdict.depends && ' *'}
      </Badge>
    </span>
  );
}

export function Verdict({ tool: { verdict } }: { tool: Tool }) {
  const texts = useStrings(toolsStrings);
  if (verdict === undefined) return null;
  const sentences = { allow: texts.verdictAllow, require_approval: texts.verdictAsk, deny: texts.verdictDeny };
  return (
    <p className={styles.soft}>
      {sentences[verdict.effect](visibleText(verdict.rule))}
      {verdict.depends && ` ${texts.verdictDepends}`}
    </p>
  );
}
