import { useStrings } from '../../i18n/language.js';
import { Page } from '../../widgets/page.js';
import { homeStrings } from './strings.js';

export default function HomeView() {
  const texts = useStrings(homeStrings);
  return (
    <Page title={texts.title}>
      <p>{texts.welcome}</p>
    </Page>
  );
}
