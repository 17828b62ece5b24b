// Calls that wait for a person, those that somebody decided about, and one of either by its address.
import { useParams } from '@tanstack/react-router';
import { useStrings } from '../../i18n/language.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { Page } from '../../widgets/page.js';
import { Tabs } from '../../widgets/tabs.js';
import { DecidedList } from './decided-list.js';
import { LinkedApproval } from './linked-approval.js';
import { endedStates } from './outcome.js';
import { approvalsStrings } from './strings.js';
import { WaitingList } from './waiting-list.js';

export default function ApprovalsView() {
  const texts = useStrings(approvalsStrings);
  const { id }: { id?: string } = useParams({ strict: false });
  const [{ state = 'waiting' }, change] = useFilters(['state', 'tool', 'principal']);
  return (
    <Page title={texts.title}>
      {id === undefined ? (
        <Tabs
          label={texts.forms}
          tabs={[
            { id: 'waiting', title: texts.waiting, content: <WaitingList /> },
            { id: 'decided', title: texts.decided, content: <DecidedList /> },
          ]}
          chosen={state === 'waiting' ? 'waiting' : 'decided'}
          onChoose={(tab) =>
            change({
              state: tab === 'waiting' ? undefined : endedStates.join(','),
              tool: undefined,
              principal: undefined,
            })
          }
        />
      ) : (
        <LinkedApproval key={id} id={id} />
      )}
    </Page>
  );
}
