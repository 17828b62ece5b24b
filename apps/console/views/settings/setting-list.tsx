// The settings by group, searched and filtered in the page: all of them are in one answer.
import type { Setting } from '@signalbox/client';
import { useMemo } from 'react';
import { useStrings } from '../../i18n/language.js';
import { ChoiceFilter } from '../../widgets/lists/choice-filter.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { TextFilter } from '../../widgets/lists/text-filter.js';
import { Badge } from '../../widgets/shown/badge.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { LongText } from '../../widgets/shown/long-text.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Notice } from '../../widgets/states.js';
import { settingStrings } from './strings.js';
import styles from './settings.module.css';

export function SettingList({ settings }: { settings: readonly Setting[] }) {
  const texts = useStrings(settingStrings);
  const { number } = useFormats();
  const [{ text, group, changed }, filter] = useFilters(['text', 'group', 'changed']);
  const groups = useMemo(() => [...new Set(settings.map((each) => each.group))], [settings]);
  const shown = useMemo(() => {
    const wanted = (text ?? '').toLowerCase();
    return settings.filter(
      (each) =>
        (group === undefined || each.group === group) &&
        (changed === undefined || each.origin !== 'default') &&
        [each.key, each.variable, each.meaning, JSON.stringify(each.value)].some(
          (part) => part?.toLowerCase().includes(wanted) === true,
        ),
    );
  }, [settings, text, group, changed]);
  const isUnfiltered = text === undefined && group === undefined;
  return (
    <>
      <div className={styles.bar}>
        <TextFilter label={texts.search} value={text} onChange={(next) => filter({ text: next })} />
        <ChoiceFilter
          label={texts.group}
          all={texts.allGroups}
          value={group}
          options={groups.map((each) => ({ value: each, title: each }))}
          onChange={(next) => filter({ group: next })}
        />
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={changed !== undefined}
            onChange={({ target }) => filter({ changed: target.checked ? 'yes' : undefined })}
          />
          {texts.onlyChanged}
        </label>
        <span className={styles.soft} role="status">
          {texts.shown(number(shown.length), number(settings.length))}
        </span>
      </div>
      {shown.length === 0 && <Notice text={isUnfiltered ? texts.noneChanged : texts.none} />}
      {groups.map((each) => {
        const rows = shown.filter((setting) => setting.group === each);
        return (
          rows.length > 0 && (
            <section key={each} className={styles.group} aria-labelledby={`group-${each}`}>
              <h3 id={`group-${each}`}>{each}</h3>
              <ul className={styles.rows}>
                {rows.map((setting) => (
                  <Row key={setting.key} setting={setting} />
                ))}
              </ul>
            </section>
          )
        );
      })}
    </>
  );
}

function Row({ setting }: { setting: Setting }) {
  const texts = useStrings(settingStrings);
  const { key, meaning, variable, origin, source } = setting;
  const from = visibleText(source ?? '');
  const origins = {
    default: texts.byDefault,
    file: texts.ofFile(from),
    env_file: texts.ofEnvFile(from),
    environment: texts.ofEnvironment(from),
  };
  const isChanged = origin !== 'default';
  return (
    <li>
      <div className={styles.name}>
        <code>{visibleText(key)}</code>
        <p lang="en">{meaning}</p>
      </div>
      <div className={styles.value}>
        <Value value={setting.value} isSecret={setting.secret} />
        {isChanged && !setting.secret && setting.default !== null && typeof setting.default !== 'object' && (
          <small>
            {texts.defaultIs} <code>{JSON.stringify(setting.default)}</code>
          </small>
        )}
        {!isChanged && variable !== null && (
          <small>
            {texts.setBy} <code>{variable}</code>
          </small>
        )}
      </div>
      <div className={styles.origin}>
        {isChanged ? (
          <Badge tone="accent">{origins[origin]}</Badge>
        ) : (
          <span className={styles.soft}>{origins.default}</span>
        )}
      </div>
    </li>
  );
}

function Value({ value, isSecret }: { value: unknown; isSecret: boolean }) {
  const texts = useStrings(settingStrings);
  if (isSecret) return value === 'set' ? <Badge tone="good">{texts.isSet}</Badge> : <Badge>{texts.notSet}</Badge>;
  if (value === null || value === undefined) return <span className={styles.soft}>{texts.notSet}</span>;
  if (typeof value === 'object') {
    if (Object.keys(value).length === 0) return <span className={styles.soft}>{texts.empty}</span>;
    return <LongText text={JSON.stringify(value, null, 2)} isCode />;
  }
  return <code>{typeof value === 'string' ? visibleText(value) : JSON.stringify(value)}</code>;
}
