// The filters of the audit, named as the API names them.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { errorCodes, errorWords } from '../../../api/error-words.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { ChoiceFilter } from '../../../widgets/lists/choice-filter.js';
import type { Filters } from '../../../widgets/lists/filters.js';
import bar from '../../../widgets/lists/filters.module.css';
import { TextFilter } from '../../../widgets/lists/text-filter.js';
import { TimeFilter } from '../../../widgets/lists/time-filter.js';
import { stateWords } from '../../../widgets/shown/state-words.js';
import { auditStrings } from '../strings.js';
import { auditKinds, kindWord } from './kind-words.js';

export const auditFilterNames = [
  'text',
  'kind',
  'outcome',
  'tool',
  'session',
  'run',
  'principal',
  'rule',
  'since',
  'until',
] as const;

type Name = (typeof auditFilterNames)[number];
export type AuditFilterValues = Filters<Name>;

const states = ['completed', 'failed', 'denied', 'cancelled', 'expired', 'approved', 'indeterminate'];

export interface AuditFiltersProps {
  filters: AuditFilterValues;
  change: (changes: { readonly [Each in Name]?: string | undefined }) => void;
}

export function AuditFilters({ filters, change }: AuditFiltersProps) {
  const texts = useStrings(auditStrings);
  const { language } = useLanguage();
  const [isOpen, setOpen] = useState(false);
  const given = Object.keys(filters).length;
  const hidden = Object.keys(filters).filter((name) => !['text', 'kind', 'outcome'].includes(name)).length;
  const outcomes = [
    { value: 'success', title: texts.success },
    { value: 'failure', title: texts.failure },
    ...states.map((value) => ({ value, title: stateWords[value]?.[language] ?? value })),
    ...errorCodes.map((value) => ({ value, title: errorWords(value, language) ?? value })),
  ];
  const kinds = auditKinds.map((value) => ({ value, title: kindWord(value, language) }));
  const typed = (name: Name) => (
    <TextFilter label={texts[name]} value={filters[name]} onChange={(value) => change({ [name]: value })} />
  );
  const choice = (name: 'kind' | 'outcome', all: string, options: { value: string; title: string }[]) => (
    <ChoiceFilter
      label={texts[name]}
      all={all}
      value={filters[name]}
      options={withGiven(options, filters[name])}
      onChange={(value) => change({ [name]: value })}
    />
  );
  return (
    <div className={bar.bar} role="search" aria-label={texts.filters}>
      {typed('text')}
      {choice('kind', texts.anyKind, kinds)}
      {choice('outcome', texts.anyOutcome, outcomes)}
      <Button className={`${buttons.button} ${bar.toggle}`} aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
        {hidden > 0 ? `${texts.moreFilters} (${hidden})` : texts.moreFilters}
      </Button>
      <div className={isOpen ? bar.more : `${bar.more} ${bar.folded}`}>
        {typed('tool')}
        {typed('principal')}
        {typed('session')}
        {typed('run')}
        {typed('rule')}
        <TimeFilter label={texts.since} value={filters.since} onChange={(since) => change({ since })} />
        <TimeFilter label={texts.until} value={filters.until} onChange={(until) => change({ until })} />
      </div>
      {given > 0 && (
        <Button
          className={`${buttons.button} ${buttons.quiet}`}
          onPress={() => change(Object.fromEntries(auditFilterNames.map((name) => [name, undefined])))}
        >
          {texts.clear}
        </Button>
      )}
    </div>
  );
}

/** The address may name a value that the list does not know. */
function withGiven(options: { value: string; title: string }[], given: string | undefined) {
  if (given === undefined || options.some(({ value }) => value === given)) return options;
  return [...options, { value: given, title: given }];
}
