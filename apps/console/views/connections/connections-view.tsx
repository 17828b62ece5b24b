// Connections: the tool servers that act with the rights of whoever uses the page, and their sign-ins there.
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { ConnectionCard } from './connection-card.js';
import { connectionsStrings } from './strings.js';
import { useSignIns } from './use-sign-ins.js';
import styles from './connections.module.css';

const lookEveryMs = 2_000;
const example = 'mcpServers: { hub: { url: https://example.com/mcp, auth: { kind: oauth } } }';

export default function ConnectionsView() {
  const texts = useStrings(connectionsStrings);
  const signIns = useSignIns();
  const { data, error, refetch } = useQuery({
    queryKey: ['connections'],
    queryFn: async ({ signal }) => {
      const found = await api.connections.list({ signal });
      signIns.note(found);
      return found;
    },
    // A sign-in ends in another tab, or in another browser.
    refetchInterval: signIns.isWaiting ? lookEveryMs : false,
    refetchOnWindowFocus: 'always',
  });
  return (
    <Page title={texts.title} about={texts.about}>
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && (
        <Notice heading={texts.empty} text={texts.emptyText}>
          <Command text={example} />
        </Notice>
      )}
      <ul className={styles.cards}>
        {data?.map((connection) => (
          <li key={connection.server}>
            <ConnectionCard connection={connection} signIns={signIns} />
          </li>
        ))}
      </ul>
    </Page>
  );
}
