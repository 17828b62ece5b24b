// The models and aliases that a request may name.
import type { Model } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/api.js';
import { useStrings } from '../../i18n/language.js';
import { type Column, DataTable } from '../../widgets/lists/data-table.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { TextFilter } from '../../widgets/lists/text-filter.js';
import { Page } from '../../widgets/page.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { modelStrings } from './strings.js';

export default function ModelsView() {
  const texts = useStrings(modelStrings);
  const [{ text }, filter] = useFilters(['text']);
  const models = useQuery({ queryKey: ['models'], queryFn: ({ signal }) => api.models({ signal }) });
  const rows = useMemo(() => {
    const wanted = text?.toLowerCase() ?? '';
    return models.data?.filter(({ id }) => id.toLowerCase().includes(wanted)) ?? [];
  }, [models.data, text]);
  const columns: readonly Column<Model>[] = [
    { name: 'id', heading: texts.name, width: 'minmax(0, 2fr)', show: ({ id }) => visibleText(id) },
    { name: 'owned_by', heading: texts.provider, width: 'minmax(0, 1fr)', show: (model) => model.owned_by },
  ];
  return (
    <Page title={texts.title} about={texts.about}>
      <TextFilter label={texts.filter} value={text} onChange={(next) => filter({ text: next })} />
      {models.isPending ? (
        <Loading />
      ) : models.error !== null ? (
        <Failure error={models.error} onRetry={() => void models.refetch()} />
      ) : rows.length === 0 ? (
        <Notice text={texts.none} />
      ) : (
        <DataTable label={texts.title} columns={columns} rows={rows} rowKey={({ id }) => id} />
      )}
    </Page>
  );
}
