// The settings in force and where they come from, what is wrong with them, health checks and versions. Nothing is changed here.
import type { Settings } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { gatewayUrl } from '../../api/addresses.js';
import { api } from '../../api/api.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import { Page } from '../../widgets/page.js';
import { Badge } from '../../widgets/shown/badge.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { Fact, Facts } from '../../widgets/shown/facts.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading } from '../../widgets/states.js';
import { checkWords } from './check-words.js';
import { SettingList } from './setting-list.js';
import { settingStrings } from './strings.js';
import styles from './settings.module.css';

export default function SettingsView() {
  const texts = useStrings(settingStrings);
  const { data, error, refetch } = useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => api.operations.settings({ signal }),
  });
  return (
    <Page title={texts.title} about={texts.about}>
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <Warnings warnings={data.warnings} />
          <div className={styles.parts}>
            <Health health={data.health} />
            <Versions versions={data.versions} />
            <Documentation />
          </div>
          <section className={styles.section} aria-labelledby="settings">
            <h2 id="settings">{texts.settings}</h2>
            <SettingList settings={data.settings} />
          </section>
          <section className={styles.section}>
            <p className={styles.soft}>{texts.onMachine}</p>
            <Command text="npm run config -- check" />
          </section>
        </>
      )}
    </Page>
  );
}

function Warnings({ warnings }: { warnings: Settings['warnings'] }) {
  const texts = useStrings(settingStrings);
  if (warnings.length === 0) return null;
  return (
    <section className={styles.section} aria-labelledby="warnings">
      <h2 id="warnings">{texts.warnings}</h2>
      <ul className={styles.warnings}>
        {warnings.map(({ setting, code, message }) => (
          <li key={`${code} ${setting}`}>
            <span>
              {setting !== null && <code>{visibleText(setting)}</code>} {texts[code] ?? code}
            </span>
            {code !== 'needs_restart' && <small lang="en">{visibleText(message)}</small>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const tones = { ok: 'good', degraded: 'warn', down: 'bad', unavailable: 'bad' } as const;

function State({ status }: { status: string }) {
  const texts = useStrings(settingStrings);
  const isKnown = (name: string): name is keyof typeof tones => Object.hasOwn(tones, name);
  return isKnown(status) ? <Badge tone={tones[status]}>{texts[status]}</Badge> : <Badge>{status}</Badge>;
}

function Health({ health: { status, checks } }: { health: Settings['health'] }) {
  const texts = useStrings(settingStrings);
  const { language } = useLanguage();
  return (
    <section className={styles.part} aria-labelledby="health">
      <div className={styles.heading}>
        <h2 id="health">{texts.health}</h2>
        <State status={status} />
      </div>
      {checks.length > 0 && checks.every((check) => check.status === 'ok') && (
        <p className={styles.soft}>{texts.wellInDetail}</p>
      )}
      <ul className={styles.checks}>
        {checks.map(({ name, status: each, reason }) => (
          <li key={name}>
            <span>{checkWords[name]?.[language] ?? name}</span>
            <State status={each} />
            {reason !== null && (
              <small className={styles.soft} lang="en">
                {visibleText(reason)}
              </small>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Versions({ versions }: { versions: Settings['versions'] }) {
  const texts = useStrings(settingStrings);
  return (
    <section className={styles.part} aria-labelledby="versions">
      <h2 id="versions">{texts.versions}</h2>
      <Facts>
        <Fact name="Signalbox">{versions.signalbox}</Fact>
        <Fact name="Node.js">{versions.node}</Fact>
        <Fact name="PostgreSQL">{versions.postgresql}</Fact>
        <Fact name="Redis">{versions.redis ?? texts.queueInPostgres}</Fact>
        <Fact name={texts.mcp}>{versions.mcp.join(', ')}</Fact>
      </Facts>
    </section>
  );
}

function Documentation() {
  const texts = useStrings(settingStrings);
  return (
    <section className={styles.part} aria-labelledby="docs">
      <h2 id="docs">{texts.docs}</h2>
      <ul className={styles.checks}>
        {[
          { title: texts.apiPages, path: '/docs/' },
          { title: texts.openApi, path: '/openapi.json' },
        ].map(({ title, path }) => (
          <li key={path}>
            <a href={`${gatewayUrl}${path}`} target="_blank" rel="noreferrer">
              {title}
            </a>
          </li>
        ))}
      </ul>
      <p className={styles.soft}>{texts.docsNote}</p>
    </section>
  );
}
