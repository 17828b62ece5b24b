// The prompts that the caller may use, and beside them the one that was chosen.
import type { OfferedPrompt } from '@signalbox/client';
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
import { Command } from '../../../widgets/shown/copy-button.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import { Notice } from '../../../widgets/states.js';
import { toolsStrings } from '../strings.js';
import { offerStrings } from './offer-strings.js';
import { PromptDetail } from './prompt-detail.js';
import styles from '../tools.module.css';

export function PromptList() {
  const texts = useStrings(offerStrings);
  const words = useStrings(toolsStrings);
  const [{ text, server, prompt }, change] = useFilters(['text', 'server', 'prompt']);
  const filters = { text, server };
  const pages = usePages<OfferedPrompt>({
    queryKey: ['offers', 'prompts', filters],
    load: (cursor, signal) => api.offers.prompts({ ...filters, cursor, signal }),
  });
  const chosen = pages.rows.find(({ name }) => name === prompt);
  const columns: readonly Column<OfferedPrompt>[] = [
    {
      name: 'name',
      heading: words.name,
      width: 'minmax(0, 1fr)',
      show: (row) => <code className={styles.cut}>{visibleText(row.name)}</code>,
    },
    {
      name: 'description',
      heading: texts.description,
      width: 'minmax(0, 2fr)',
      isMinor: true,
      show: (row) => visibleText(row.title ?? row.description ?? ''),
    },
    { name: 'server', heading: words.server, width: 'minmax(0, 1fr)', show: (row) => visibleText(row.server) },
  ];
  return (
    <div className={styles.part}>
      <div className={bar.bar}>
        <TextFilter label={texts.text} value={text} onChange={(next) => change({ text: next })} />
        <TextFilter label={words.server} value={server} onChange={(next) => change({ server: next })} />
      </div>
      <ListDetail
        onClose={() => change({ prompt: undefined })}
        detail={
          chosen === undefined
            ? undefined
            : { heading: visibleText(chosen.name), content: <PromptDetail key={chosen.name} prompt={chosen} /> }
        }
      >
        <PagedTable
          label={texts.prompts}
          pages={pages}
          columns={columns}
          rowKey={({ name }) => name}
          chosen={prompt}
          onOpen={({ name }) => change({ prompt: name })}
          empty={
            <Notice heading={texts.noPrompts} text={texts.noPromptsHint}>
              <Command text={`curl ${gatewayUrl}/api/prompts`} />
            </Notice>
          }
        />
      </ListDetail>
    </div>
  );
}
