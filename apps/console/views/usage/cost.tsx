// A cost, and whether all of it is known.
import type { UsageSum } from '@signalbox/client';
import { useStrings } from '../../i18n/language.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { usageStrings } from './strings.js';

export function Cost({ of: { cost_usd: usd, unpriced_tokens: unpriced } }: { of: UsageSum }) {
  const texts = useStrings(usageStrings);
  const formats = useFormats();
  if (unpriced === 0) return formats.usd(usd);
  return <span title={texts.unpricedHint}>{usd === 0 ? texts.unknown : `${formats.usd(usd)} + ${texts.unknown}`}</span>;
}
