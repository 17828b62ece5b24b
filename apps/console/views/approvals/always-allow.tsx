// Drafts the narrowest rule that would have allowed this call, shows what else it would cover, and takes the draft to the policy. It
// changes nothing: the rule counts when somebody has put it into the file of the policy.
import type { Approval } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { Dialog, DialogActions } from '../../widgets/dialog.js';
import { keepPolicyDraft } from '../../widgets/policy/policy-draft.js';
import { Simulation } from '../../widgets/policy/simulation.js';
import { useSimulation } from '../../widgets/policy/use-simulation.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { JsonView } from '../../widgets/shown/json-view.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading } from '../../widgets/states.js';
import { widgetStrings } from '../../widgets/strings.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

const days = 30;
const dayMs = 86_400_000;

/** For administrators, who may read the policy. */
export function AlwaysAllow({ approval }: { approval: Approval }) {
  const texts = useStrings(approvalsStrings);
  const [isOpen, setOpen] = useState(false);
  if (useMay('admin') !== true || approval.kind !== 'approval' || approval.rule === 'request') return null;
  return (
    <div>
      <Button className={`${buttons.button} ${buttons.quiet}`} onPress={() => setOpen(true)}>
        {texts.alwaysAllow}
      </Button>
      <Dialog
        heading={texts.alwaysAllowOf(visibleText(approval.tool))}
        isOpen={isOpen}
        isWide
        onClose={() => setOpen(false)}
      >
        <DraftedRule approval={approval} onClose={() => setOpen(false)} />
      </Dialog>
    </div>
  );
}

function DraftedRule({ approval: { id }, onClose }: { approval: Approval; onClose: () => void }) {
  const texts = useStrings(approvalsStrings);
  const { cancel: leave } = useStrings(widgetStrings);
  const formats = useFormats();
  const navigate = useNavigate();
  const { now, start, cancel } = useSimulation();
  const { data, error, refetch } = useQuery({
    queryKey: ['policy', 'drafted', id],
    queryFn: ({ signal }) => api.operations.policy.draft(id, { signal }),
    staleTime: 0,
  });
  useEffect(() => {
    if (data === undefined) return;
    const since = new Date(Date.now() - days * dayMs).toISOString();
    start({ policy: data.policy, rule: data.rule.name, since });
  }, [data, start]);
  const covered = now.end?.rules.find(({ rule }) => rule === data?.rule.name)?.calls ?? 0;
  return (
    <div className={styles.drafted}>
      {data === undefined && error === null && <Loading />}
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <p>{data.before === null ? texts.ruleLast : texts.ruleBefore(visibleText(data.before))}</p>
          <JsonView value={data.rule} />
          {data.left_out.length > 0 && <p>{texts.leftOut(data.left_out.map(visibleText).join(', '))}</p>}
          {now.end !== undefined && <p role="status">{texts.covers(formats.number(covered), days)}</p>}
          <Simulation now={now} onCancel={cancel} />
        </>
      )}
      <DialogActions>
        <Button className={buttons.button} onPress={onClose}>
          {leave}
        </Button>
        <Button
          className={`${buttons.button} ${buttons.primary}`}
          isDisabled={data === undefined}
          onPress={() => {
            keepPolicyDraft(data!.policy);
            void navigate({ to: '/policy', search: { tab: 'draft' } });
          }}
        >
          {texts.openPolicy}
        </Button>
      </DialogActions>
    </div>
  );
}
