// How the models do: providers, aliases, prices, and a test prompt for each model.
import type { ModelsHealth } from '@signalbox/client';
import { useQuery } from '@tanstack/react-query';
import { useStrings } from '../../i18n/language.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { ListDetail } from '../../widgets/lists/list-detail.js';
import { Page } from '../../widgets/page.js';
import { Command } from '../../widgets/shown/copy-button.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { Failure, Loading, Notice } from '../../widgets/states.js';
import { AliasList } from './alias-list.js';
import { healthQuery } from './health-query.js';
import { ModelTable } from './model-table.js';
import { ProviderCard } from './provider-card.js';
import { modelStrings } from './strings.js';
import { TestPrompt } from './test/test-prompt.js';
import styles from './models.module.css';

const keyVariables = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'DEEPSEEK_API_KEY'];
const ollama = 'OLLAMA_BASE_URL=http://127.0.0.1:11434/v1';

export default function ModelsView() {
  const texts = useStrings(modelStrings);
  const formats = useFormats();
  const [{ model }, change] = useFilters(['model']);
  const { data, error, refetch } = useQuery(healthQuery);
  const open = (next: string | undefined) => change({ model: next });
  return (
    <Page
      title={texts.title}
      {...(data === undefined ? {} : { about: texts.about(formats.time(new Date(data.counted_since))) })}
    >
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <ListDetail
          onClose={() => open(undefined)}
          detail={
            model === undefined
              ? undefined
              : {
                  heading: texts.testOf(visibleText(model)),
                  content: <TestPrompt key={model} model={model} health={data} />,
                }
          }
        >
          <Shown health={data} model={model} onTest={open} />
        </ListDetail>
      )}
    </Page>
  );
}

function Shown({
  health,
  model,
  onTest,
}: {
  health: ModelsHealth;
  model: string | undefined;
  onTest: (model: string) => void;
}) {
  const texts = useStrings(modelStrings);
  const { number } = useFormats();
  const isOnlyOffline = health.providers.every(({ kind }) => kind === 'offline');
  return (
    <>
      {health.gateways > 1 && (
        <p className={styles.soft}>{texts.oneOf(number(health.gateways), visibleText(health.gateway))}</p>
      )}
      {isOnlyOffline && <FirstProvider />}
      {health.problems.length > 0 && (
        <div className={styles.warning}>
          <h2>{texts.problems}</h2>
          <ul>
            {health.problems.map((problem) => (
              <li key={problem}>{visibleText(problem)}</li>
            ))}
          </ul>
        </div>
      )}
      <section className={styles.section} aria-labelledby="providers">
        <h2 id="providers">{texts.providers}</h2>
        <div className={styles.cards}>
          {health.providers.map((provider) => (
            <ProviderCard key={provider.name} provider={provider} onTest={onTest} />
          ))}
        </div>
      </section>
      <section className={styles.section} aria-labelledby="aliases">
        <h2 id="aliases">{texts.aliases}</h2>
        <AliasList aliases={health.aliases} onTest={onTest} />
      </section>
      <section className={styles.section} aria-labelledby="models">
        <h2 id="models">{texts.models}</h2>
        <ModelTable health={health} chosen={model} onTest={onTest} />
      </section>
    </>
  );
}

function FirstProvider() {
  const texts = useStrings(modelStrings);
  return (
    <Notice heading={texts.onlyOffline} text={texts.onlyOfflineText}>
      {keyVariables.map((variable) => (
        <Command key={variable} text={`${variable}=… npm start`} />
      ))}
      <Command text={`${ollama} npm start`} />
      <p className={styles.soft}>{texts.otherProviders}</p>
    </Notice>
  );
}
