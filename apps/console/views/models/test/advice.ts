// What one can do about a model that did not answer. The provider's last error in the report says more than the code.
import type { ModelProvider, ModelsHealth } from '@signalbox/client';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import type { modelStrings } from '../strings.js';

type Texts = (typeof modelStrings)['en'];

export interface Failed {
  code: string | undefined;
  /** As it was asked for: `provider/model`, or an alias. */
  model: string;
  health: ModelsHealth;
  texts: Texts;
}

export function adviceOf({ code, model, health, texts }: Failed): string {
  const provider = providerOf(model, health);
  const last = provider?.last_error;
  switch (code) {
    case 'model_not_found':
      return texts.notFound;
    case 'model_forbidden':
      return texts.forbidden;
    case 'budget_exceeded':
      return texts.budget;
    case 'rate_limit_exceeded':
    case 'concurrency_exceeded':
      return texts.tooMany;
    case 'model_timeout':
      return texts.takesLong;
    case 'model_unavailable':
      // The last error is what opened the circuit.
      if (last == null || last.code === code) return texts.waits;
      return `${texts.waits} ${adviceOf({ code: last.code, model, health, texts })}`;
    case 'model_error':
      if (provider === undefined || last?.code !== code) return texts.otherwise;
      if (last.upstream_status === 401 || last.upstream_status === 403) return keyAdvice(provider, texts);
      if (last.upstream_status === 404) return texts.notFound;
      if (last.upstream_status !== null) return texts.otherwise;
      return texts.unreachable(visibleText(provider.address ?? ''), visibleText(provider.address_from ?? ''));
    default:
      return texts.otherwise;
  }
}

function keyAdvice({ has_key: hasKey, key_from: from }: ModelProvider, texts: Texts): string {
  return (hasKey ? texts.keyRefused : texts.keyMissing)(visibleText(from ?? ''));
}

/** The last entry of an alias is the one whose failure the caller is told. */
function providerOf(model: string, { providers, aliases }: ModelsHealth): ModelProvider | undefined {
  const target = aliases.find(({ name }) => name === model)?.targets.at(-1) ?? model;
  return providers.find(({ name }) => target === name || target.startsWith(`${name}/`));
}
