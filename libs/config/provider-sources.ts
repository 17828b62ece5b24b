// Finds the variables or settings that a provider's address and key come from, so that an error can name what to change.
import type { Path } from './printing/schema-walk.js';
import { formatKey } from './config-error.js';
import { knownProviders } from './environment.js';
import type { ProviderConfig } from './schema.js';

export interface ProviderSources {
  /** The variable or setting of the address: the one that has it, or would have another. */
  address: string;
  key: string;
}

export interface SourceReading {
  /** A value's origin, as in `Origins`; undefined for defaults. */
  originOf(path: Path): string | undefined;
  /** The text in the file, before its variables were replaced. */
  textOf(path: Path): unknown;
}

const known = new WeakMap<object, ProviderSources>();

export function noteProviderSources(providers: Record<string, ProviderConfig>, reading: SourceReading): void {
  for (const [name, provider] of Object.entries(providers)) {
    const vendor = knownProviders.find((each) => each.name === name && each.members.kind === provider.kind);
    const variables: Record<string, string | undefined> =
      vendor?.sets === 'base_url'
        ? { base_url: vendor.variable }
        : { base_url: vendor?.baseUrlVariable, api_key: vendor?.variable };
    const source = (member: string) => sourceOf(['models', 'providers', name, member], variables[member], reading);
    const keyed = provider.api_key === undefined && Object.keys(provider.headers).length > 0 ? 'headers' : 'api_key';
    known.set(provider, { address: source('base_url'), key: source(keyed) });
  }
}

/** The paths of the settings where the configuration was not read from files and variables. */
export function providerSources(name: string, provider: ProviderConfig): ProviderSources {
  const path = `models.providers.${name}`;
  return known.get(provider) ?? { address: `${path}.base_url`, key: `${path}.api_key` };
}

function sourceOf(path: Path, variable: string | undefined, { originOf, textOf }: SourceReading): string {
  const origin = originOf(path);
  const [, named] = /^(?:environment|\.env) (\w+)$/.exec(origin ?? '') ?? [];
  if (named !== undefined) return named;
  const text = textOf(path);
  const [, inFile] = typeof text === 'string' ? (/(?<!\$)\$\{(\w+)/.exec(text) ?? []) : [];
  if (inFile !== undefined) return inFile;
  return text === undefined && variable !== undefined ? variable : formatKey(path);
}
