// The tools of the caller, by server, by toolset and by text, and beside them the one that was chosen.
import type { Tool } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import { ChoiceFilter } from '../../widgets/lists/choice-filter.js';
import type { Column } from '../../widgets/lists/data-table.js';
import { DataTable } from '../../widgets/lists/data-table.js';
import bar from '../../widgets/lists/filters.module.css';
import { useFilters } from '../../widgets/lists/filters.js';
import { ListDetail } from '../../widgets/lists/list-detail.js';
import { TextFilter } from '../../widgets/lists/text-filter.js';
import { Badge } from '../../widgets/shown/badge.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { toolsStrings } from './strings.js';
import { ToolDetail } from './tool-detail.js';
import { VerdictBadge } from './verdict.js';
import styles from './tools.module.css';

export function ToolList() {
  const texts = useStrings(toolsStrings);
  const formats = useFormats();
  const [{ text, server, toolset, order, tool }, change] = useFilters(['text', 'server', 'toolset', 'order', 'tool']);
  const { data, error, refetch } = useQuery({
    queryKey: ['tools', 'list'],
    queryFn: ({ signal }) => api.tools.list({ include: ['verdict', 'usage'], signal }),
  });
  if (data === undefined)
    return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
  const servers = [...new Set(data.map((each) => each.server))].toSorted();
  // The address may name a set that has none of these tools.
  const toolsets = [
    ...new Set([...data.flatMap((each) => each.toolsets ?? []), ...(toolset ? [toolset] : [])]),
  ].toSorted();
  const wanted = text?.toLowerCase() ?? '';
  const matching = data.filter(
    (each) =>
      (server === undefined || each.server === server) &&
      (toolset === undefined || each.toolsets?.includes(toolset) === true) &&
      [each.function.name, each.title ?? '', each.function.description].some((part) =>
        part.toLowerCase().includes(wanted),
      ),
  );
  const shown = order === 'tokens' ? matching.toSorted((one, other) => other.tokens - one.tokens) : matching;
  const tokens = shown.reduce((sum, each) => sum + each.tokens, 0);
  const chosen = data.find(({ function: { name } }) => name === tool);
  const columns: readonly Column<Tool>[] = [
    {
      name: 'name',
      heading: texts.name,
      width: 'minmax(0, 2fr)',
      show: (row) => (
        <span className={styles.tool}>
          <code className={styles.cut}>{visibleText(row.function.name)}</code>
          {!row.available && <Badge tone="bad">{texts.unavailable}</Badge>}
        </span>
      ),
    },
    {
      name: 'server',
      heading: texts.server,
      width: 'minmax(0, 1fr)',
      isMinor: true,
      show: (row) => visibleText(row.server),
    },
    { name: 'verdict', heading: texts.verdict, width: '140px', show: (row) => <VerdictBadge tool={row} /> },
    {
      name: 'tokens',
      heading: texts.tokens,
      width: '64px',
      isNumber: true,
      isMinor: true,
      show: (row) => formats.number(row.tokens),
    },
    {
      name: 'calls',
      heading: texts.calls,
      width: '104px',
      isNumber: true,
      isMinor: true,
      show: (row) => formats.number(row.last_30_days?.calls ?? 0),
    },
    {
      name: 'failures',
      heading: texts.failures,
      width: '72px',
      isNumber: true,
      isMinor: true,
      show: (row) => formats.number(row.last_30_days?.failures ?? 0),
    },
  ];
  return (
    <div className={styles.part}>
      <div className={bar.bar}>
        <TextFilter label={texts.text} value={text} onChange={(next) => change({ text: next })} />
        <ChoiceFilter
          label={texts.server}
          all={texts.anyServer}
          value={server}
          options={servers.map((value) => ({ value, title: visibleText(value) }))}
          onChange={(next) => change({ server: next })}
        />
        {toolsets.length > 0 && (
          <ChoiceFilter
            label={texts.toolset}
            all={texts.anyToolset}
            value={toolset}
            options={toolsets.map((value) => ({ value, title: visibleText(value) }))}
            onChange={(next) => change({ toolset: next })}
          />
        )}
        <ChoiceFilter
          label={texts.order}
          all={texts.orderOfServers}
          value={order}
          options={[{ value: 'tokens', title: texts.mostTokensFirst }]}
          onChange={(next) => change({ order: next })}
        />
        {shown.length > 0 && (
          <span className={styles.soft}>
            {texts.toolsOf(formats.number(shown.length))} · {texts.tokensOfAll(formats.number(tokens))}
          </span>
        )}
      </div>
      {data.length === 0 && (
        <Notice heading={texts.empty} text={texts.emptyHint}>
          <Command text={`curl ${gatewayUrl}/api/servers`} />
        </Notice>
      )}
      {data.length > 0 && shown.length === 0 && <Notice text={texts.emptyFilters} />}
      {(shown.length > 0 || chosen !== undefined) && (
        <ListDetail
          onClose={() => change({ tool: undefined })}
          detail={
            chosen === undefined
              ? undefined
              : {
                  heading: visibleText(chosen.function.name),
                  content: <ToolDetail key={chosen.function.name} tool={chosen} />,
                }
          }
        >
          <DataTable
            label={texts.tools}
            rows={shown}
            columns={columns}
            rowKey={({ function: { name } }) => name}
            chosen={tool}
            onOpen={({ function: { name } }) => change({ tool: name })}
          />
        </ListDetail>
      )}
    </div>
  );
}
