// API keys: who has one, what it allows, what is spent of it; and making, rotating and revoking them.
import type { ListedKey } from '@signalbox/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useMe } from '../../api/me.js';
import { Icon } from '../../frame/icon.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { ChoiceFilter } from '../../widgets/lists/choice-filter.js';
import type { Column } from '../../widgets/lists/data-table.js';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { ListDetail } from '../../widgets/lists/list-detail.js';
import { PagedTable } from '../../widgets/lists/paged-table.js';
import { usePages } from '../../widgets/lists/pages.js';
import { TextFilter } from '../../widgets/lists/text-filter.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { CreateKey } from './create/create-key.js';
import { type KeyScope, keyScopes } from './create/key-values.js';
import { KeyDetail } from './key-detail.js';
import { inForceStates, KeyState, keyStates, nearerBudget, SpentOf } from './key-words.js';
import { MadeKey, type NewlyMade } from './made-key.js';
import { keysStrings } from './strings.js';
import styles from './keys.module.css';

const pageSize = 100;

export default function KeysView() {
  const texts = useStrings(keysStrings);
  const queries = useQueryClient();
  const isOpen = useMe()?.sign_in.open === true;
  const [{ id, ...filters }, change] = useFilters(['text', 'owner', 'state', 'scope', 'id']);
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<NewlyMade>();
  const pages = usePages<ListedKey>({
    queryKey: ['keys', 'list', filters],
    load: async (after, signal) => {
      const scope = filters.scope as KeyScope | undefined;
      const asked = { ...filters, scope, limit: pageSize, ...(after === undefined ? {} : { after }), signal };
      const page = await api.operations.keys(asked);
      return { data: page.data, next_cursor: page.has_more ? page.data.at(-1)!.id : null };
    },
  });
  const { columns, card } = useKeyShapes(id !== undefined);
  const isFiltered = Object.keys(filters).length > 0;
  const states = [
    { value: inForceStates, title: texts.inForce },
    ...keyStates.filter((each) => each !== 'active').map((each) => ({ value: each, title: texts[each] })),
  ];
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <Button className={`${buttons.button} ${buttons.primary}`} onPress={() => setCreating(true)}>
          <Icon name="plus" size={14} />
          {texts.create}
        </Button>
      }
    >
      <div className={bar.bar} role="search" aria-label={texts.filters}>
        <TextFilter label={texts.text} value={filters.text} onChange={(text) => change({ text })} />
        <ChoiceFilter
          label={texts.state}
          all={texts.anyState}
          value={filters.state}
          options={states}
          onChange={(state) => change({ state })}
        />
        <ChoiceFilter
          label={texts.scope}
          all={texts.anyScope}
          value={filters.scope}
          options={keyScopes.map((each) => ({ value: each, title: each }))}
          onChange={(scope) => change({ scope })}
        />
        <TextFilter label={texts.owner} value={filters.owner} onChange={(owner) => change({ owner })} />
      </div>
      <ListDetail
        detail={
          id === undefined
            ? undefined
            : {
                heading: headingOf(pages.rows.find((row) => row.id === id)) ?? id,
                content: <KeyDetail key={id} id={id} onMade={setShown} />,
              }
        }
        onClose={() => change({ id: undefined })}
      >
        <PagedTable
          label={texts.title}
          pages={pages}
          columns={columns}
          card={card}
          rowHeight={48}
          rowKey={(row) => row.id}
          chosen={id}
          onOpen={(row) => change({ id: row.id })}
          empty={
            isFiltered ? (
              <Notice heading={texts.noMatch} text={texts.noMatchText} />
            ) : (
              <Notice heading={texts.emptyHeading} text={isOpen ? texts.emptyOpen : texts.empty}>
                <Command text="npm run keys -- create --owner root --scopes admin" />
              </Notice>
            )
          }
        />
      </ListDetail>
      {isCreating && (
        <CreateKey
          onClose={() => setCreating(false)}
          onMade={(made) => {
            setCreating(false);
            setShown({ made, isNeeded: isOpen });
            // On a gateway that was open the page would now be refused: it asks again when the key was seen.
            if (!isOpen) void queries.invalidateQueries({ queryKey: ['keys'] });
          }}
        />
      )}
      {shown !== undefined && <MadeKey shown={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

const headingOf = (row: ListedKey | undefined): string | undefined =>
  row === undefined ? undefined : visibleText(row.name === null ? row.owner : `${row.owner} · ${row.name}`);

/** Beside an open key there is room for few columns. */
function useKeyShapes(isBeside: boolean) {
  const texts = useStrings(keysStrings);
  const who = ({ owner, name }: ListedKey) => (
    <span className={styles.who}>
      <span className={styles.cut} title={visibleText(owner)}>
        {visibleText(owner)}
      </span>
      {name !== null && (
        <small className={`${styles.cut} ${styles.soft}`} title={visibleText(name)}>
          {visibleText(name)}
        </small>
      )}
    </span>
  );
  const spent = (row: ListedKey) => {
    const period = nearerBudget(row);
    return <SpentOf label={texts[period ?? 'month']} use={row.spending[period ?? 'month']} />;
  };
  const lastUse = ({ last_used_at: time }: ListedKey) => (time === null ? texts.never : <TimeAgo time={time} />);
  const expires = ({ expires_at: time }: ListedKey) => (time === null ? '–' : <TimeAgo time={time} />);
  const columns: readonly Column<ListedKey>[] = [
    { name: 'state', heading: texts.state, width: '104px', show: (row) => <KeyState state={row.state} /> },
    { name: 'owner', heading: texts.owner, width: 'minmax(90px, 1.4fr)', show: who },
    { name: 'prefix', heading: texts.prefix, width: '112px', show: ({ prefix }) => <code>{prefix}…</code> },
    {
      name: 'scopes',
      heading: texts.scopes,
      width: 'minmax(90px, 1fr)',
      show: ({ scopes }) => <span title={scopes.join(', ')}>{scopes.join(', ')}</span>,
    },
    { name: 'budget', heading: texts.budget, width: 'minmax(110px, 1.2fr)', show: spent },
    { name: 'used', heading: texts.lastUse, width: '92px', show: lastUse },
    { name: 'expires', heading: texts.expires, width: '92px', show: expires },
  ];
  const card = (row: ListedKey) => (
    <div className={styles.card}>
      <span className={styles.line}>
        <KeyState state={row.state} />
        {who(row)}
      </span>
      <span className={`${styles.line} ${styles.soft}`}>
        <code>{row.prefix}…</code>
        {row.scopes.join(', ')}
      </span>
      <span className={`${styles.line} ${styles.soft}`}>
        <span>
          {texts.lastUse}: {lastUse(row)}
        </span>
        {row.expires_at !== null && (
          <span>
            {texts.expires}: {expires(row)}
          </span>
        )}
      </span>
      {spent(row)}
    </div>
  );
  const few = columns.filter(({ name }) => !['prefix', 'scopes', 'expires'].includes(name));
  return { columns: isBeside ? few : columns, card };
}
