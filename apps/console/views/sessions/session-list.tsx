// Sessions with their owner, expiry and quota. Administrators may see whose sessions there are, but not into those of others.
import type { Session } from '@signalbox/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useMay, useMe } from '../../api/me.js';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { ChoiceFilter } from '../../widgets/lists/choice-filter.js';
import type { Column } from '../../widgets/lists/data-table.js';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { PagedTable } from '../../widgets/lists/paged-table.js';
import { usePages } from '../../widgets/lists/pages.js';
import { notifyFailure } from '../../widgets/notices.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { Quota } from './quota.js';
import { sessionsStrings } from './strings.js';

const pageSize = 50;

export function SessionList() {
  const texts = useStrings(sessionsStrings);
  const formats = useFormats();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const me = useMe();
  const isAdmin = useMay('admin') === true;
  const [{ principal }, change] = useFilters(['principal']);
  const pages = usePages<Session>({
    queryKey: ['sessions', 'list', principal],
    load: async (cursor, signal) => {
      const page = await api.sessions.list({
        ...(principal === undefined ? {} : { principal }),
        limit: pageSize,
        cursor,
        signal,
      });
      return { data: page.sessions, next_cursor: page.next_cursor };
    },
  });
  const open = (id: string) => void navigate({ to: '/sessions/{-$id}', params: { id } });
  const creating = useMutation({
    mutationFn: () => api.sessions.create(),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['sessions', 'list'] });
      open(id);
    },
    onError: notifyFailure,
  });
  const seesOthers = isAdmin && principal !== undefined;
  const columns: readonly Column<Session>[] = [
    { name: 'id', heading: texts.name, width: 'minmax(0, 2fr)', show: ({ id }) => visibleText(id) },
    ...(seesOthers
      ? [
          {
            name: 'owner',
            heading: texts.owner,
            width: 'minmax(0, 1fr)',
            show: (row: Session) => visibleText(row.principal),
          },
        ]
      : []),
    { name: 'used', heading: texts.used, width: 'minmax(90px, 1fr)', show: (row) => <Quota session={row} /> },
    {
      name: 'files',
      heading: texts.files,
      width: '72px',
      isNumber: true,
      isMinor: true,
      show: ({ usage }) => formats.number(usage.files),
    },
    {
      name: 'created',
      heading: texts.created,
      width: '110px',
      isMinor: true,
      show: (row) => <TimeAgo time={row.created_at} />,
    },
    { name: 'expires', heading: texts.expires, width: '90px', show: (row) => <TimeAgo time={row.expires_at} /> },
  ];
  return (
    <Page
      title={texts.title}
      actions={
        <Button className={buttons.button} isDisabled={creating.isPending} onPress={() => creating.mutate()}>
          <Icon name="plus" size={14} />
          {texts.newSession}
        </Button>
      }
      about={seesOthers ? texts.othersHint : undefined}
    >
      {isAdmin && (
        <div className={bar.bar}>
          <ChoiceFilter
            label={texts.owners}
            all={texts.mine}
            value={principal}
            options={[{ value: '*', title: texts.everybody }]}
            onChange={(next) => change({ principal: next })}
          />
        </div>
      )}
      <PagedTable
        label={texts.title}
        pages={pages}
        columns={columns}
        rowKey={(row) => `${row.id} ${row.principal}`}
        onOpen={(row) => (row.principal === me?.principal ? open(row.id) : undefined)}
        empty={
          <Notice heading={texts.empty} text={texts.emptyHint}>
            <Command
              text={`curl ${gatewayUrl}/api/sessions -H 'content-type: application/json' -d '{"session_id": "trial"}'`}
            />
          </Notice>
        }
      />
    </Page>
  );
}
