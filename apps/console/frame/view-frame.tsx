// A view while it loads, when the caller may not see it, when it breaks, and as it is.
import { useQuery } from '@tanstack/react-query';
import { Component, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { signInWanted } from '../api/credentials.js';
import { meQuery } from '../api/me.js';
import { useLanguage, useStrings } from '../i18n/language.js';
import type { BuiltView } from '../views.js';
import buttons from '../widgets/button.module.css';
import { Page } from '../widgets/page.js';
import { Failure, Loading, Notice } from '../widgets/states.js';
import { frameStrings } from './strings.js';

export function ViewFrame({ view }: { view: BuiltView }) {
  const { language } = useLanguage();
  const title = view.title[language];
  const { data: me, error, refetch } = useQuery(meQuery);
  const [wasSeen, setWasSeen] = useState(false);
  const isSignedIn = me !== undefined && me.signed_in !== null;
  // A view that is there stays while its caller signs in again: it may hold what somebody typed.
  if (isSignedIn && !wasSeen) setWasSeen(true);
  useEffect(() => {
    document.title = `${title} · Signalbox`;
  }, [title]);
  // The same component as long as the view is shown: another one would lose what somebody typed.
  const [ViewBody] = useState(view.component);
  const loading = (
    <Page title={title}>{error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />}</Page>
  );
  if (!isSignedIn && !wasSeen) return loading;
  if (isSignedIn && view.scope !== undefined && !me.scopes.includes(view.scope)) {
    return <Forbidden title={title} scope={view.scope} />;
  }
  return (
    <Boundary shown={(again) => <Broken title={title} again={again} />}>
      <Suspense fallback={loading}>
        <ViewBody />
      </Suspense>
    </Boundary>
  );
}

function Forbidden({ title, scope }: { title: string; scope: string }) {
  const texts = useStrings(frameStrings);
  return (
    <Page title={title}>
      <Notice heading={texts.forbidden} text={texts.forbiddenHint(scope)}>
        <Button className={buttons.button} onPress={() => signInWanted.set(true)}>
          {texts.otherKey}
        </Button>
      </Notice>
    </Page>
  );
}

function Broken({ title, again }: { title: string; again: () => void }) {
  const texts = useStrings(frameStrings);
  return (
    <Page title={title}>
      <Notice heading={texts.broken} text={texts.brokenHint}>
        <Button className={buttons.button} onPress={again}>
          {texts.tryAgain}
        </Button>
        <Button className={buttons.button} onPress={() => location.reload()}>
          {texts.reload}
        </Button>
      </Notice>
    </Page>
  );
}

/** React takes only a class for this. */
class Boundary extends Component<
  { shown: (again: () => void) => ReactNode; children: ReactNode },
  { broken: boolean }
> {
  override state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  override render(): ReactNode {
    return this.state.broken ? this.props.shown(() => this.setState({ broken: false })) : this.props.children;
  }
}
