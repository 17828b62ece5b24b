// The tool servers as the workers report them.
import type { ToolServer } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { Button } from 'react-aria-components/Button';
import { gatewayUrl } from '../../../api/addresses.js';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { useFilters } from '../../../widgets/lists/filters.js';
import { Badge, StateBadge } from '../../../widgets/shown/badge.js';
import { Command } from '../../../widgets/shown/copy-button.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { Fact, Facts } from '../../../widgets/shown/facts.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../../widgets/states.js';
import { toolsStrings } from '../strings.js';
import styles from '../tools.module.css';

export function ToolServers() {
  const texts = useStrings(toolsStrings);
  const { data, error, refetch } = useQuery({
    queryKey: ['servers'],
    queryFn: ({ signal }) => api.operations.servers({ signal }),
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.length === 0) {
    return (
      <Notice heading={texts.noServers} text={texts.noServersHint}>
        <Command text={`curl ${gatewayUrl}/api/workers`} />
      </Notice>
    );
  }
  return (
    <div className={styles.servers}>
      {data.map((server) => (
        <ServerCard key={server.name} server={server} />
      ))}
    </div>
  );
}

function ServerCard({ server }: { server: ToolServer }) {
  const texts = useStrings(toolsStrings);
  const formats = useFormats();
  const id = useId();
  const [, change] = useFilters(['tab', 'server']);
  const {
    name,
    state,
    reason,
    isolation,
    forbids = [],
    network,
    protocol,
    instances = {},
    restarts,
    stderr = [],
  } = server;
  const words: Readonly<Record<string, unknown>> = { ...texts, network: texts.networkForbidden };
  const wordOf = (forbidden: string) =>
    typeof words[forbidden] === 'string' ? words[forbidden] : visibleText(forbidden);
  const counted = Object.entries(instances).map(([each, count]) => `${Number(count)} ${each}`);
  return (
    <article className={styles.card} aria-labelledby={id}>
      <header className={styles.badges}>
        <h2 id={id}>{visibleText(name)}</h2>
        <StateBadge state={state} />
        <Button
          className={`${buttons.button} ${buttons.quiet}`}
          onPress={() => change({ tab: undefined, server: name })}
        >
          {texts.toolsOf(formats.number(server.tools))}
        </Button>
      </header>
      <Facts>
        {reason !== undefined && (
          <Fact name={texts.why}>
            <LongText text={reason} />
          </Fact>
        )}
        {isolation !== undefined && (
          <Fact name={texts.isolation}>
            <code>{isolation}</code>
          </Fact>
        )}
        {forbids.length > 0 && (
          <Fact name={texts.forbids}>
            <span className={styles.badges}>
              {forbids.map((each) => (
                <Badge key={each}>{wordOf(each)}</Badge>
              ))}
            </span>
          </Fact>
        )}
        {server.tools > 0 && <Fact name={texts.tokens}>{formats.number(server.tokens)}</Fact>}
        {network !== undefined && <Fact name={texts.network}>{visibleText(network)}</Fact>}
        {server.paths !== undefined && (
          <>
            <Fact name={texts.reads}>{visibleText(server.paths.read.join(', ')) || texts.none}</Fact>
            <Fact name={texts.writes}>{visibleText(server.paths.write.join(', ')) || texts.none}</Fact>
          </>
        )}
        {protocol !== undefined && <Fact name={texts.protocol}>{visibleText(protocol)}</Fact>}
        {counted.length > 0 && <Fact name={texts.instances}>{counted.join(', ')}</Fact>}
        {restarts !== undefined && <Fact name={texts.restarts}>{formats.number(restarts)}</Fact>}
        {server.left_out !== undefined && server.left_out.length > 0 && (
          <Fact name={texts.leftOut}>{visibleText(server.left_out.join(', '))}</Fact>
        )}
        <Fact name={texts.workers}>
          {server.workers.map((worker) => (
            <span key={worker.id} className={styles.badges}>
              <code>{visibleText(worker.id)}</code> <StateBadge state={worker.state} />
            </span>
          ))}
        </Fact>
      </Facts>
      {stderr.length > 0 && (
        <div>
          <h3>{texts.stderr}</h3>
          <LongText text={stderr.join('\n')} isCode />
        </div>
      )}
    </article>
  );
}
