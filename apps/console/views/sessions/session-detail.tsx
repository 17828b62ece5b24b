// One session: its quota and expiry, its files with a preview, and what can be done with them.
import { SignalboxError, type FileEntry } from '@signalbox/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { ConfirmDialog } from '../../widgets/dialog.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { ListDetail } from '../../widgets/lists/list-detail.js';
import { notify, notifyFailure } from '../../widgets/notices.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { Fact, Facts } from '../../widgets/shown/facts.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { FileDetail } from './files/file-detail.js';
import { FileTree } from './files/file-tree.js';
import { saveAnswer } from './files/save-answer.js';
import { Quota } from './quota.js';
import { sessionsStrings } from './strings.js';
import { Uploads } from './uploads/uploads.js';
import styles from './sessions.module.css';

export function SessionDetail({ id }: { id: string }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const mayFiles = useMay('files');
  const [{ path }, change] = useFilters(['path']);
  const session = useQuery({
    queryKey: ['sessions', 'one', id],
    queryFn: ({ signal }) => api.sessions.get(id, { signal }),
  });
  const listed = useQuery({
    queryKey: ['sessions', 'files', id],
    queryFn: ({ signal }) => api.files.list(id, { signal }),
    enabled: session.isSuccess && mayFiles === true,
  });
  const isMissing = session.error instanceof SignalboxError && session.error.status === 404;
  const files = listed.data?.files ?? [];
  const chosen = files.find((each) => each.path === path);
  const error = session.error ?? listed.error;
  return (
    <Page
      title={`${texts.title}: ${visibleText(id)}`}
      about={
        <Link to="/sessions/{-$id}" params={{ id: undefined }}>
          {texts.all}
        </Link>
      }
      actions={
        session.data === undefined ? undefined : (
          <Actions id={id} count={session.data.usage.files} mayFiles={mayFiles === true} />
        )
      }
    >
      {isMissing && <Notice heading={texts.missing} text={texts.missingHint} />}
      {error !== null && !isMissing && (
        <Failure error={error} onRetry={() => void (session.error === null ? listed.refetch() : session.refetch())} />
      )}
      {session.isPending && <Loading />}
      {session.data !== undefined && (
        <>
          <Facts layout="line">
            <Fact name={texts.owner}>{visibleText(session.data.principal)}</Fact>
            <Fact name={texts.expires}>
              <TimeAgo time={session.data.expires_at} />
            </Fact>
            <Fact name={texts.used}>
              <span className={styles.wide}>
                <Quota session={session.data} />
                {texts.ofLimit(
                  formats.number(session.data.usage.files),
                  texts.filesCount(formats.number(session.data.limits.files)),
                )}
              </span>
            </Fact>
          </Facts>
          {mayFiles === false && <Notice text={texts.noFilesScope} />}
          {mayFiles === true && (
            <Uploads session={session.data} files={files} folder={folderOf(chosen)}>
              {listed.data === undefined && listed.error === null && <Loading />}
              {listed.data?.truncated === true && <p className={styles.soft}>{texts.truncated}</p>}
              {listed.data !== undefined && files.length === 0 && (
                <Notice heading={texts.noFiles} text={texts.noFilesHint}>
                  <Command text={`curl -T FILE ${gatewayUrl}/api/sessions/${id}/files/FILE`} />
                </Notice>
              )}
              {files.length > 0 && (
                <ListDetail
                  onClose={() => change({ path: undefined })}
                  detail={
                    path === undefined
                      ? undefined
                      : {
                          heading: visibleText(path),
                          content:
                            chosen === undefined ? (
                              <Notice text={texts.gone} />
                            ) : (
                              <FileDetail
                                key={`${chosen.path} ${chosen.etag ?? ''}`}
                                sessionId={id}
                                entry={chosen}
                                onGone={() => change({ path: undefined })}
                              />
                            ),
                        }
                  }
                >
                  <FileTree files={files} chosen={path} onChoose={(next) => change({ path: next })} />
                </ListDetail>
              )}
            </Uploads>
          )}
        </>
      )}
    </Page>
  );
}

/** Where uploads go: into the chosen directory, or beside the chosen file. */
function folderOf(chosen: FileEntry | undefined): string {
  if (chosen === undefined) return '';
  return chosen.type === 'directory' ? chosen.path : chosen.path.split('/').slice(0, -1).join('/');
}

function Actions({ id, count, mayFiles }: { id: string; count: number; mayFiles: boolean }) {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const archiving = useMutation({
    mutationFn: async () => saveAnswer(await api.files.archive(id), `${id}.tar`),
    onError: notifyFailure,
  });
  const deleting = useMutation({
    mutationFn: () => api.sessions.delete(id),
    onSuccess: async () => {
      notify(texts.deletedSession(visibleText(id)));
      await navigate({ to: '/sessions/{-$id}', params: { id: undefined } });
      queries.removeQueries({ queryKey: ['sessions', 'one', id] });
      await queries.invalidateQueries({ queryKey: ['sessions', 'list'] });
    },
    onError: notifyFailure,
  });
  return (
    <>
      <Link className={buttons.button} to="/runs" search={{ session: id }}>
        {texts.runs}
      </Link>
      {mayFiles && (
        <Button
          className={buttons.button}
          isDisabled={archiving.isPending || count === 0}
          onPress={() => archiving.mutate()}
        >
          {archiving.isPending ? texts.downloading : texts.archive}
        </Button>
      )}
      <Button
        className={`${buttons.button} ${buttons.danger}`}
        isDisabled={deleting.isPending}
        onPress={() => setAsks(true)}
      >
        {texts.deleteSession}
      </Button>
      <ConfirmDialog
        heading={texts.deleteSessionAsk(visibleText(id))}
        text={texts.deleteSessionText(formats.number(count))}
        action={texts.deleteSession}
        isOpen={asks}
        onConfirm={() => deleting.mutate()}
        onClose={() => setAsks(false)}
      />
    </>
  );
}
