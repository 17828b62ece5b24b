import { Link } from '@tanstack/react-router';
import { useStrings } from '../i18n/language.js';
import { Notice } from '../widgets/states.js';
import { Page } from '../widgets/page.js';
import { frameStrings } from './strings.js';

export function NotFound() {
  const texts = useStrings(frameStrings);
  return (
    <Page title={texts.notFound}>
      <Notice text={texts.notFoundHint}>
        <Link to="/">{texts.toHome}</Link>
      </Notice>
    </Page>
  );
}
