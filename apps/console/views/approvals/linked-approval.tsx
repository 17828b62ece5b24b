// One approval by its address, which webhooks link to: as it waits, or how it ended, or why it is not shown.
import { SignalboxError } from '@signalbox/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { signInWanted } from '../../api/credentials.js';
import { useMe } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import type { DecisionMode } from '../../widgets/decisions/decide-call.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { ApprovalCard, EndedCard } from './approval-card.js';
import { approvalsStrings } from './strings.js';
import styles from './approvals.module.css';

const lookMs = 3_000;

export function LinkedApproval({ id }: { id: string }) {
  const texts = useStrings(approvalsStrings);
  const queries = useQueryClient();
  const isOpenGateway = useMe()?.sign_in.open === true;
  const [mode, setMode] = useState<DecisionMode>('choose');
  const [byOthers, setByOthers] = useState(false);
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => api.approvals.get(id, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'waiting' ? lookMs : false),
  });
  const isMissing = error instanceof SignalboxError && error.code === 'approval_not_found';
  return (
    <div className={styles.list}>
      <p>
        <Link to="/approvals/{-$id}" params={{ id: undefined }}>
          {texts.all}
        </Link>
      </p>
      {isPending && <Loading />}
      {isMissing && (
        <Notice heading={texts.missing} text={texts.missingHint}>
          {!isOpenGateway && (
            <Button className={buttons.button} onPress={() => signInWanted.set(true)}>
              {texts.otherKey}
            </Button>
          )}
        </Notice>
      )}
      {error !== null && !isMissing && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.state === 'waiting' && !isMissing && (
        <ApprovalCard
          approval={data}
          isSelected
          mode={mode}
          onMode={setMode}
          onDecided={(decided, others) => {
            setByOthers(others);
            queries.setQueryData(['approvals', 'one', id], decided);
          }}
        />
      )}
      {data !== undefined && data.state !== 'waiting' && <EndedCard approval={data} byOthers={byOthers} />}
    </div>
  );
}
