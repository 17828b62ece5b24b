// Who may do what: the rules in force for administrators, with a draft that is tried before it is put into its file; and for everybody
// what the policy says of a call.
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { Page } from '../../widgets/page.js';
import { Loading } from '../../widgets/states.js';
import { Tabs } from '../../widgets/tabs.js';
import { DraftTab } from './draft-tab.js';
import { ExplainTab } from './explain-tab.js';
import { RulesTab } from './rules-tab.js';
import { policyStrings } from './strings.js';
import { UnusedTab } from './unused-tab.js';

export default function PolicyView() {
  const texts = useStrings(policyStrings);
  const isAdmin = useMay('admin');
  const [{ tab }, change] = useFilters(['tab']);
  return (
    <Page title={texts.title} about={isAdmin === false ? texts.aboutOwn : texts.about}>
      {isAdmin === undefined && <Loading />}
      {isAdmin === false && <ExplainTab isAdmin={false} />}
      {isAdmin === true && (
        <Tabs
          label={texts.parts}
          tabs={[
            { id: 'rules', title: texts.rules, content: <RulesTab /> },
            { id: 'explain', title: texts.explain, content: <ExplainTab isAdmin /> },
            { id: 'draft', title: texts.draft, content: <DraftTab /> },
            { id: 'unused', title: texts.unused, content: <UnusedTab /> },
          ]}
          chosen={tab}
          onChoose={(next) => change({ tab: next === 'rules' ? undefined : next })}
        />
      )}
    </Page>
  );
}
