// What the policy does with a call, or did, in a word.
import { useStrings } from '../../i18n/language.js';
import { Badge } from '../shown/badge.js';
import { policyWords } from './policy-strings.js';

const tones = { allow: 'good', require_approval: 'warn', deny: 'bad', refused: 'bad' } as const;

export type ShownEffect = keyof typeof tones;

export function EffectBadge({ effect }: { effect: ShownEffect }) {
  const texts = useStrings(policyWords);
  return <Badge tone={tones[effect]}>{texts[effect]}</Badge>;
}

/** `allowed → denied` */
export const EffectChange = ({ was, now }: { was: ShownEffect; now: ShownEffect }) => (
  <>
    <EffectBadge effect={was} /> <span aria-hidden="true">→</span> <EffectBadge effect={now} />
  </>
);
