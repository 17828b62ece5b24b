// The resources that the caller may read, the templates by which further ones are read, and beside them the one that was chosen.
import type { OfferedResource, OfferedTemplate } from '@signalbox/client';
import { gatewayUrl } from '../../../api/addresses.js';
import { api } from '../../../api/api.js';
import { useStrings } from '../../../i18n/language.js';
import type { Column } from '../../../widgets/lists/data-table.js';
import bar from '../../../widgets/lists/filters.module.css';
import { useFilters } from '../../../widgets/lists/filters.js';
import { ListDetail } from '../../../widgets/lists/list-detail.js';
import { PagedTable } from '../../../widgets/lists/paged-table.js';
import { usePages } from '../../../widgets/lists/pages.js';
import { TextFilter } from '../../../widgets/lists/text-filter.js';
import { Badge } from '../../../widgets/shown/badge.js';
import { Command } from '../../../widgets/shown/copy-button.js';
import { LongText } from '../../../widgets/shown/long-text.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Notice } from '../../../widgets/states.js';
import { toolsStrings } from '../strings.js';
import { offerStrings } from './offer-strings.js';
import { ResourceReader } from './resource-reader.js';
import styles from '../tools.module.css';

const keyOf = (each: OfferedResource | OfferedTemplate): string =>
  'uriTemplate' in each ? each.uriTemplate : each.uri;

export function ResourceList() {
  const texts = useStrings(offerStrings);
  const words = useStrings(toolsStrings);
  const [{ text, server, resource }, change] = useFilters(['text', 'server', 'resource']);
  const filters = { text, server };
  const resources = usePages<OfferedResource>({
    queryKey: ['offers', 'resources', filters],
    load: (cursor, signal) => api.offers.resources({ ...filters, cursor, signal }),
  });
  const templates = usePages<OfferedTemplate>({
    queryKey: ['offers', 'templates', filters],
    load: (cursor, signal) => api.offers.templates({ ...filters, cursor, signal }),
  });
  const chosen = [...resources.rows, ...templates.rows].find((each) => keyOf(each) === resource);
  const columnsOf = (heading: string): readonly Column<OfferedResource | OfferedTemplate>[] => [
    {
      name: 'uri',
      heading,
      width: 'minmax(0, 2fr)',
      show: (row) => <code className={styles.cut}>{visibleText(keyOf(row))}</code>,
    },
    { name: 'name', heading: words.name, width: 'minmax(0, 1fr)', show: (row) => visibleText(row.title ?? row.name) },
    {
      name: 'server',
      heading: words.server,
      width: 'minmax(0, 1fr)',
      isMinor: true,
      show: (row) => visibleText(row.server),
    },
    {
      name: 'type',
      heading: texts.type,
      width: '140px',
      isMinor: true,
      show: (row) => visibleText(row.mimeType ?? ''),
    },
  ];
  const table = {
    rowKey: keyOf,
    chosen: resource,
    onOpen: (row: OfferedResource | OfferedTemplate) => change({ resource: keyOf(row) }),
  };
  return (
    <div className={styles.part}>
      <div className={bar.bar}>
        <TextFilter label={texts.text} value={text} onChange={(next) => change({ text: next })} />
        <TextFilter label={words.server} value={server} onChange={(next) => change({ server: next })} />
      </div>
      <ListDetail
        onClose={() => change({ resource: undefined })}
        detail={
          chosen === undefined
            ? undefined
            : { heading: visibleText(chosen.name), content: <Detail key={resource} chosen={chosen} /> }
        }
      >
        <PagedTable
          label={texts.resources}
          pages={resources}
          columns={columnsOf(texts.uri)}
          {...table}
          empty={
            <Notice heading={texts.noResources} text={texts.noResourcesHint}>
              <Command text={`curl ${gatewayUrl}/api/resources`} />
            </Notice>
          }
        />
        <h2>{texts.templates}</h2>
        <PagedTable
          label={texts.templates}
          pages={templates}
          columns={columnsOf(texts.template)}
          {...table}
          empty={<p className={styles.soft}>{texts.noTemplates}</p>}
        />
      </ListDetail>
      <ResourceReader heading={texts.byHand} uri="" about={texts.byHandHint} />
    </div>
  );
}

function Detail({ chosen }: { chosen: OfferedResource | OfferedTemplate }) {
  const texts = useStrings(offerStrings);
  const isTemplate = 'uriTemplate' in chosen;
  return (
    <div className={styles.detail}>
      <p className={styles.badges}>
        <Badge>{visibleText(chosen.server)}</Badge>
        {chosen.mimeType !== undefined && <Badge>{visibleText(chosen.mimeType)}</Badge>}
      </p>
      {chosen.title !== undefined && <h3>{visibleText(chosen.title)}</h3>}
      {chosen.description !== undefined && <LongText text={chosen.description} />}
      <ResourceReader
        heading={texts.readHeading}
        uri={keyOf(chosen)}
        server={chosen.server}
        {...(isTemplate && { about: texts.fillTemplate })}
      />
    </div>
  );
}
