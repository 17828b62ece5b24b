// The way into a new chat whose next message names a resource or a prompt.
import type { OfferPart } from '@signalbox/client';
import { Link } from '@tanstack/react-router';
import { useMay } from '../../../api/me.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { offerAddress } from '../../../widgets/offers.js';
import { offerStrings } from './offer-strings.js';

export function UseInChat({ offer }: { offer: OfferPart }) {
  const texts = useStrings(offerStrings);
  if (useMay('chat') !== true) return null;
  return (
    <Link
      to="/chat/{-$session}"
      params={{ session: undefined }}
      search={offerAddress(offer)}
      className={buttons.button}
    >
      {texts.useInChat}
    </Link>
  );
}
