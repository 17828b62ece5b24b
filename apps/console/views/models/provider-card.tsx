// One provider: whether it can be used, how its calls went, and what it offers.
import type { ModelProvider } from '@signalbox/client';
import { useId, useMemo } from 'react';
import { Button } from 'react-aria-components/Button';
import { sentenceOf } from '../../api/failure.js';
import { useLanguage, useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { Badge } from '../../widgets/shown/badge.js';
import { Fact, Facts } from '../../widgets/shown/facts.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { Plot } from '../../widgets/shown/plot.js';
import { TimeAgo } from '../../widgets/shown/time-ago.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { modelStrings } from './strings.js';
import styles from './models.module.css';

export function ProviderCard({ provider, onTest }: { provider: ModelProvider; onTest: (model: string) => void }) {
  const texts = useStrings(modelStrings);
  const { language } = useLanguage();
  const id = useId();
  const { name, kind, address, tools, problem, last_error: last } = provider;
  const isOffline = kind === 'offline';
  // Without a model's name a provider is asked for its first one.
  const first = provider.models.names[0];
  return (
    <article className={styles.card} aria-labelledby={id}>
      <header className={styles.head}>
        <h3 id={id}>{visibleText(name)}</h3>
        <State provider={provider} />
        <Button
          className={`${buttons.button} ${styles.end}`}
          aria-label={texts.testOf(name)}
          onPress={() => onTest(isOffline && first === name ? name : first === undefined ? name : `${name}/${first}`)}
        >
          {texts.test}
        </Button>
      </header>
      {problem !== null && (
        <p className={styles.trouble} lang="en">
          {visibleText(problem)}
        </p>
      )}
      {provider.circuit?.state === 'open' && (
        <p className={styles.trouble}>
          {texts.pausedText} ({texts.since} <TimeAgo time={provider.circuit.since} />)
        </p>
      )}
      <Facts>
        <Fact name={texts.address}>
          {address === null ? texts.inside : <code>{visibleText(address)}</code>}{' '}
          <small className={styles.soft}>{kind}</small>
        </Fact>
        {provider.key_from !== null && (
          <Fact name={texts.key}>
            {(provider.has_key ? texts.keySet : texts.keyNotSet)(visibleText(provider.key_from))}
          </Fact>
        )}
        {tools !== 'native' && (
          <Fact name={texts.tools}>{tools === 'prompted' ? texts.toolsPrompted : texts.toolsNone}</Fact>
        )}
        <Fact name={texts.offers}>
          <Offers models={provider.models} />
        </Fact>
        {last !== null && (
          <Fact name={texts.lastError}>
            <TimeAgo time={last.at} /> {last.message !== problem && <>· {visibleText(sentenceOf(last, language))} </>}
            <small className={styles.soft}>
              {last.code}
              {last.upstream_status === null ? '' : ` ${last.upstream_status}`} · {visibleText(last.model)}
            </small>
          </Fact>
        )}
      </Facts>
      {provider.last_day.calls === 0 ? (
        <p className={styles.soft}>{texts.noCalls}</p>
      ) : (
        <>
          <Figures provider={provider} />
          {provider.last_day.p95_ms !== null && <Hours provider={provider} />}
        </>
      )}
    </article>
  );
}

function State({ provider: { circuit, problem } }: { provider: ModelProvider }) {
  const texts = useStrings(modelStrings);
  if (circuit?.state === 'open') return <Badge tone="bad">{texts.paused}</Badge>;
  if (circuit?.state === 'half_open') return <Badge tone="warn">{texts.tried}</Badge>;
  if (problem !== null) return <Badge tone="warn">{texts.cannotBeUsed}</Badge>;
  return <Badge tone="good">{texts.usable}</Badge>;
}

function Offers({ models: { source, count, names, listed_at: listedAt } }: { models: ModelProvider['models'] }) {
  const texts = useStrings(modelStrings);
  const { number } = useFormats();
  const origin =
    source === 'configuration' ? (
      texts.ofConfiguration
    ) : source === 'built_in' ? null : listedAt === null ? (
      texts.neverListed
    ) : (
      <>
        {texts.listed} <TimeAgo time={listedAt} />
      </>
    );
  return (
    <>
      {number(count)} {origin !== null && <span className={styles.soft}>· {origin}</span>}
      {names.length > 0 && (
        <details>
          <summary className={styles.soft}>{texts.names}</summary>
          <p className={styles.names} tabIndex={0}>
            {names.map(visibleText).join(', ')}
            {count > names.length && ` ${texts.andMore(number(count - names.length))}`}
          </p>
        </details>
      )}
    </>
  );
}

function Figures({ provider: { last_hour, last_day } }: { provider: ModelProvider }) {
  const texts = useStrings(modelStrings);
  const formats = useFormats();
  const ms = (value: number | null) => (value === null ? '–' : formats.duration(value));
  return (
    <div className={styles.wide} tabIndex={0}>
      <table className={styles.figures}>
        <thead>
          <tr>
            <th scope="col" />
            <th scope="col">{texts.calls}</th>
            <th scope="col">{texts.failed}</th>
            <th scope="col">p50</th>
            <th scope="col">p95</th>
            <th scope="col">{texts.firstToken}</th>
          </tr>
        </thead>
        <tbody>
          {[
            { name: texts.lastHour, of: last_hour },
            { name: texts.lastDay, of: last_day },
          ].map(({ name, of }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{formats.number(of.calls)}</td>
              <td
                className={of.failed > 0 ? styles.bad : undefined}
                title={of.errors.map(({ code, count }) => `${code}: ${formats.number(count)}`).join(', ')}
              >
                {of.calls === 0 ? '–' : formats.percent(of.failed / of.calls)}
              </td>
              <td>{ms(of.p50_ms)}</td>
              <td>{ms(of.p95_ms)}</td>
              <td>{ms(of.first_token_p50_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Hours({ provider: { name, hours } }: { provider: ModelProvider }) {
  const texts = useStrings(modelStrings);
  const formats = useFormats();
  const times = useMemo(() => hours.map(({ hour }) => new Date(hour).getTime() / 1_000), [hours]);
  const series = useMemo(
    () => [{ name: texts.plotLatency, values: hours.map(({ p95_ms }) => p95_ms) }],
    [hours, texts.plotLatency],
  );
  return (
    <div>
      <p className={styles.soft}>{texts.plotLatency}</p>
      <Plot
        label={texts.latency(name)}
        times={times}
        series={series}
        show={formats.duration}
        height={110}
        kind="bars"
      />
    </div>
  );
}
