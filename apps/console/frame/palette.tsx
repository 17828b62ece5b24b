// Jumps anywhere by a name: a view, a run by its id, a tool, a session, a key.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Autocomplete, useFilter } from 'react-aria-components/Autocomplete';
import { Header } from 'react-aria-components/Header';
import { Input } from 'react-aria-components/Input';
import { ListBox, ListBoxItem, ListBoxSection } from 'react-aria-components/ListBox';
import { TextField } from 'react-aria-components/TextField';
import { api } from '../api/api.js';
import { useMe } from '../api/me.js';
import { useLanguage, useStrings } from '../i18n/language.js';
import { addressOf, builtViews } from '../views.js';
import { Dialog } from '../widgets/dialog.js';
import { visibleText } from '../widgets/shown/visible-text.js';
import { frameStrings } from './strings.js';
import styles from './palette.module.css';

interface Place {
  id: string;
  name: string;
  to: string;
  search?: Record<string, string>;
}

const sessionsShown = 100;
const keysShown = 100;

export default function Palette({ onClose }: { onClose: () => void }) {
  const texts = useStrings(frameStrings);
  const navigate = useNavigate();
  const { contains } = useFilter({ sensitivity: 'base' });
  const [typed, setTyped] = useState('');
  const groups = usePlaces(typed.trim());
  return (
    <Dialog heading={texts.palette} isOpen onClose={onClose}>
      <Autocomplete filter={contains} inputValue={typed} onInputChange={setTyped}>
        <TextField autoFocus aria-label={texts.palette}>
          {/* The arrows of the field move through the list, which takes no focus of its own. */}
          <Input role="combobox" aria-expanded className={styles.input} placeholder={texts.paletteHint} />
        </TextField>
        <ListBox
          aria-label={texts.palette}
          className={styles.list}
          renderEmptyState={() => texts.paletteEmpty}
          onAction={(id) => {
            const place = groups.flatMap(({ places }) => places).find((each) => each.id === id);
            onClose();
            if (place !== undefined) void navigate({ to: place.to, search: place.search ?? {} });
          }}
        >
          {groups.map(({ name, places }) => (
            <ListBoxSection key={name} id={name}>
              <Header className={styles.group}>{name}</Header>
              {places.map((place) => (
                <ListBoxItem key={place.id} id={place.id} textValue={place.name} className={styles.place}>
                  {place.name}
                </ListBoxItem>
              ))}
            </ListBoxSection>
          ))}
        </ListBox>
      </Autocomplete>
    </Dialog>
  );
}

function usePlaces(typed: string): { name: string; places: readonly Place[] }[] {
  const texts = useStrings(frameStrings);
  const { language } = useLanguage();
  const scopes = useMe()?.scopes ?? [];
  const seen = builtViews.filter(({ scope }) => scope === undefined || scopes.includes(scope));
  const has = (name: string) => seen.some((view) => view.name === name);
  const tools = useQuery({
    queryKey: ['tools'],
    queryFn: ({ signal }) => api.tools.list({ signal }),
    enabled: has('tools'),
  });
  const sessions = useQuery({
    queryKey: ['sessions', { limit: sessionsShown }],
    queryFn: ({ signal }) => api.sessions.list({ limit: sessionsShown, signal }),
    enabled: has('sessions'),
  });
  const keys = useQuery({
    queryKey: ['keys', 'palette'],
    queryFn: ({ signal }) => api.operations.keys({ state: 'active,rotating,expiring', limit: keysShown, signal }),
    enabled: has('keys'),
  });
  const isRun = has('run') && /^run_[0-9a-f]+$/.test(typed);
  const groups = [
    {
      name: texts.views,
      places: seen
        .filter(({ navigation }) => navigation !== undefined)
        .map((view) => ({ id: `view ${view.name}`, name: view.title[language], to: addressOf(view) })),
    },
    { name: texts.runs, places: isRun ? [{ id: 'run', name: texts.openRun(typed), to: `/runs/${typed}` }] : [] },
    {
      name: texts.tools,
      places: (tools.data ?? []).map(({ server, function: { name } }) => ({
        id: `tool ${name}`,
        name,
        to: '/tools',
        search: { server, tool: name },
      })),
    },
    {
      name: texts.sessions,
      places: (sessions.data?.sessions ?? []).map(({ id }) => ({
        id: `session ${id}`,
        name: id,
        to: `/sessions/${id}`,
      })),
    },
    {
      name: texts.apiKeys,
      places: (keys.data?.data ?? []).map(({ id, owner, name, prefix }) => ({
        id: `key ${id}`,
        name: visibleText([owner, name, `${prefix}…`].filter((part) => part !== null).join(' · ')),
        to: '/keys',
        search: { id },
      })),
    },
  ];
  return groups.filter(({ places }) => places.length > 0);
}
