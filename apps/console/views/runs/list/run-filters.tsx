// The filters of the list of runs, named as the API names them.
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { errorCodes, errorWords } from '../../../api/error-words.js';
import { useMay } from '../../../api/me.js';
import { useLanguage, useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { ChoiceFilter } from '../../../widgets/lists/choice-filter.js';
import type { Filters } from '../../../widgets/lists/filters.js';
import filterStyles from '../../../widgets/lists/filters.module.css';
import { TextFilter } from '../../../widgets/lists/text-filter.js';
import { TimeFilter } from '../../../widgets/lists/time-filter.js';
import { stateWords } from '../../../widgets/shown/state-words.js';
import { runStates } from '../run-words.js';
import { runsStrings } from '../strings.js';

export const runFilterNames = [
  'text',
  'state',
  'model',
  'principal',
  'session',
  'tool',
  'error',
  'since',
  'until',
] as const;

type Name = (typeof runFilterNames)[number];

export interface RunFiltersProps {
  filters: Filters<Name>;
  change: (changes: { readonly [Each in Name]?: string | undefined }) => void;
}

export function RunFilters({ filters, change }: RunFiltersProps) {
  const texts = useStrings(runsStrings);
  const { language } = useLanguage();
  const isAdmin = useMay('admin') === true;
  const [isOpen, setOpen] = useState(false);
  const given = Object.keys(filters).length;
  const hidden = given - (filters.text === undefined ? 0 : 1) - (filters.state === undefined ? 0 : 1);
  const states = runStates.map((state) => ({ value: state, title: stateWords[state]?.[language] ?? state }));
  const codes = [...new Set([...errorCodes, ...(filters.error === undefined ? [] : [filters.error])])];
  const errors = codes.map((code) => ({ value: code, title: errorWords(code, language) ?? code }));
  const typed = (name: Name) => (
    <TextFilter label={texts[name]} value={filters[name]} onChange={(value) => change({ [name]: value })} />
  );
  return (
    <div className={filterStyles.bar} role="search" aria-label={texts.filters}>
      {typed('text')}
      <ChoiceFilter
        label={texts.state}
        all={texts.anyState}
        value={filters.state}
        options={states}
        onChange={(state) => change({ state })}
      />
      <Button
        className={`${buttons.button} ${filterStyles.toggle}`}
        aria-expanded={isOpen}
        onPress={() => setOpen(!isOpen)}
      >
        {hidden > 0 ? `${texts.moreFilters} (${hidden})` : texts.moreFilters}
      </Button>
      <div className={isOpen ? filterStyles.more : `${filterStyles.more} ${filterStyles.folded}`}>
        {typed('model')}
        {typed('tool')}
        <ChoiceFilter
          label={texts.error}
          all={texts.anyError}
          value={filters.error}
          options={errors}
          onChange={(error) => change({ error })}
        />
        {typed('session')}
        {isAdmin && typed('principal')}
        <TimeFilter label={texts.since} value={filters.since} onChange={(since) => change({ since })} />
        <TimeFilter label={texts.until} value={filters.until} onChange={(until) => change({ until })} />
      </div>
      {given > 0 && (
        <Button
          className={`${buttons.button} ${buttons.quiet}`}
          onPress={() => change(Object.fromEntries(runFilterNames.map((name) => [name, undefined])))}
        >
          {texts.clear}
        </Button>
      )}
    </div>
  );
}
