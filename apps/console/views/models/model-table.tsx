// Every model that is known: what it was used for in 30 days, and its price.
import type { ModelsHealth, PricedModel } from '@signalbox/client';
import { useMemo } from 'react';
import { useStrings } from '../../i18n/language.js';
import { type Column, DataTable } from '../../widgets/lists/data-table.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { TextFilter } from '../../widgets/lists/text-filter.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { modelStrings } from './strings.js';
import styles from './models.module.css';

interface Row {
  name: string;
  /** Absent: the provider lists it, and nobody has used it. */
  known?: PricedModel;
}

export interface ModelTableProps {
  health: ModelsHealth;
  chosen: string | undefined;
  onTest: (model: string) => void;
}

export function ModelTable({ health, chosen, onTest }: ModelTableProps) {
  const texts = useStrings(modelStrings);
  const formats = useFormats();
  const [{ text }, filter] = useFilters(['text']);
  const rows = useMemo(() => rowsOf(health, text), [health, text]);
  const columns: readonly Column<Row>[] = [
    { name: 'model', heading: texts.model, width: 'minmax(0, 2fr)', show: ({ name }) => visibleText(name) },
    {
      name: 'price',
      heading: texts.price,
      width: 'minmax(0, 1.6fr)',
      show: ({ known }) => (known === undefined ? '–' : <Price price={known.price} />),
    },
    {
      name: 'requests',
      heading: texts.requests,
      width: 'minmax(0, 1fr)',
      isNumber: true,
      isMinor: true,
      show: ({ known }) => formats.number(known?.requests ?? 0),
    },
    {
      name: 'tokens',
      heading: texts.tokens,
      width: 'minmax(0, 1fr)',
      isNumber: true,
      isMinor: true,
      show: ({ known }) => formats.number((known?.prompt_tokens ?? 0) + (known?.completion_tokens ?? 0)),
    },
    {
      name: 'cost',
      heading: texts.cost,
      width: 'minmax(80px, 0.6fr)',
      isNumber: true,
      show: ({ known }) => formats.usd(known?.cost_usd ?? 0),
    },
  ];
  return (
    <>
      <TextFilter label={texts.filter} value={text} onChange={(next) => filter({ text: next })} />
      {rows.length === 0 ? (
        <Notice text={texts.none} />
      ) : (
        <DataTable
          label={texts.models}
          columns={columns}
          rows={rows}
          rowKey={({ name }) => name}
          chosen={chosen}
          onOpen={({ name }) => onTest(name)}
          card={({ name, known }) => (
            <span className={styles.row}>
              <span>{visibleText(name)}</span>
              {known !== undefined && (
                <small className={styles.soft}>
                  <Price price={known.price} /> · {formats.usd(known.cost_usd)}
                </small>
              )}
            </span>
          )}
        />
      )}
    </>
  );
}

function Price({ price }: { price: PricedModel['price'] }) {
  const texts = useStrings(modelStrings);
  const { usd } = useFormats();
  if (price === null) return <span title={texts.unknownPriceHint}>{texts.unknownPrice}</span>;
  if (price.input === 0 && price.output === 0) return texts.free;
  const cached = price.cached_input === null ? '' : `, ${texts.cachedPrice(usd(price.cached_input))}`;
  return (
    <span>
      {texts.priceOf(usd(price.input), usd(price.output))}
      {cached}
    </span>
  );
}

/** Those with figures first, as the gateway orders them. */
function rowsOf({ models, providers }: ModelsHealth, text = ''): Row[] {
  const wanted = text.toLowerCase();
  const known = new Set(models.map(({ model }) => model));
  const listed = providers.flatMap(({ name, models: { names } }) => names.map((each) => `${name}/${each}`));
  return [
    ...models.map((each) => ({ name: each.model, known: each })),
    ...listed.filter((name) => !known.has(name)).map((name) => ({ name })),
  ].filter(({ name }) => name.toLowerCase().includes(wanted));
}
