// Definitions of tools, prompts and instructions that a tool server lists otherwise than they were approved, by the grade of the change.
import type { ToolChange } from '@signalbox/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Changes } from '../../../widgets/decisions/changes.js';
import { usePages } from '../../../widgets/lists/pages.js';
import { notify, notifyFailure } from '../../../widgets/notices.js';
import { Badge } from '../../../widgets/shown/badge.js';
import type { Tone } from '../../../widgets/shown/state-words.js';
import { TimeAgo } from '../../../widgets/shown/time-ago.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../../widgets/states.js';
import { widgetStrings } from '../../../widgets/strings.js';
import { toolsStrings } from '../strings.js';
import styles from '../tools.module.css';

const tones: Readonly<Record<ToolChange['change'], Tone>> = {
  cosmetic: 'neutral',
  wording: 'warn',
  contract: 'bad',
  new: 'accent',
  removed: 'neutral',
};

export function ToolChanges() {
  const texts = useStrings(toolsStrings);
  const { more } = useStrings(widgetStrings);
  const pages = usePages<ToolChange>({
    queryKey: ['changes'],
    load: async (after, signal) => {
      const page = await api.operations.toolChanges({ ...(after === undefined ? {} : { after }), signal });
      return { data: page.changes, next_cursor: page.has_more ? page.changes.at(-1)!.id : null };
    },
  });
  if (pages.isLoading) return <Loading />;
  if (pages.error !== null) return <Failure error={pages.error} onRetry={pages.reload} />;
  if (pages.rows.length === 0) return <Notice heading={texts.noChanges} text={texts.noChangesHint} />;
  return (
    <div className={styles.servers}>
      {pages.rows.map((change) => (
        <ChangeCard key={`${change.id} ${change.hash ?? ''}`} change={change} />
      ))}
      {pages.hasMore && (
        <Button className={buttons.button} isDisabled={pages.isLoadingMore} onPress={pages.loadMore}>
          {more}
        </Button>
      )}
    </div>
  );
}

function ChangeCard({ change }: { change: ToolChange }) {
  const texts = useStrings(toolsStrings);
  const queries = useQueryClient();
  const id = useId();
  const { kind, server, tool, hash } = change;
  const name = visibleText(tool === '' ? server : `${server}/${tool}`);
  const deciding = useMutation({
    mutationFn: (decision: 'accept' | 'reject') =>
      api.operations.decideToolChanges(decision, [{ kind, server, tool, hash }]),
    onSuccess: (_decided, decision) => notify(decision === 'accept' ? texts.accepted(name) : texts.rejectedNow(name)),
    onError: notifyFailure,
    onSettled: () =>
      Promise.all(['changes', 'tools', 'offers'].map((kept) => queries.invalidateQueries({ queryKey: [kept] }))),
  });
  return (
    <article className={styles.card} aria-labelledby={id}>
      <header className={styles.badges}>
        <h2 id={id}>{name}</h2>
        {kind !== 'tool' && <Badge tone="neutral">{kind === 'prompt' ? texts.ofPrompt : texts.ofInstructions}</Badge>}
        <Badge tone={tones[change.change]}>{texts[change.change]}</Badge>
        {change.state === 'rejected' && <Badge tone="bad">{texts.rejected}</Badge>}
        <span className={styles.soft}>
          {texts.changedAt} <TimeAgo time={change.changed_at} />
        </span>
      </header>
      <Changes before={change.approved?.definition} after={change.held?.definition} />
      <div className={styles.actions}>
        <Button
          className={`${buttons.button} ${buttons.primary}`}
          isDisabled={deciding.isPending}
          onPress={() => deciding.mutate('accept')}
        >
          {texts.accept}
        </Button>
        {change.state === 'pending' && (
          <Button
            className={`${buttons.button} ${buttons.danger}`}
            isDisabled={deciding.isPending}
            onPress={() => deciding.mutate('reject')}
          >
            {texts.reject}
          </Button>
        )}
      </div>
    </article>
  );
}
