// Finds wrong names in the configuration: a default and aliases that lead to no model. Names are resolved as in requests. No
// provider is asked.
import { knownProviders } from '#libs/config/environment.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { type KnownModels, namedModel, resolveModel } from './resolve-model.js';

export interface MisnamedModel {
  /** The setting's path: `models.aliases.best[1]`. */
  setting: string;
  message: string;
}

/** `discovered`: the known lists of the providers. A provider whose list is unknown may list any name. */
export function misnamedModels(
  config: Config['models'],
  offline: string,
  discovered: KnownModels['discovered'] = () => [],
): MisnamedModel[] {
  const found: MisnamedModel[] = [];
  const check = (setting: string, name: string) => {
    const message = problemOf(name, { config, offline, discovered });
    if (message !== undefined) found.push({ setting, message });
  };
  if (config.default !== undefined) check('models.default', config.default);
  for (const [alias, targets] of Object.entries(config.aliases)) {
    const setting = `models.aliases.${alias}`;
    if (isCircle(alias, config)) found.push({ setting, message: `'${alias}' leads back to itself` });
    else if (typeof targets === 'string') check(setting, targets);
    else for (const [index, target] of targets.entries()) check(`${setting}[${index}]`, target);
  }
  return found;
}

type Known = Omit<KnownModels, 'providers'>;

function problemOf(name: string, known: Known): string | undefined {
  const { config, offline, discovered } = known;
  // A wrong alias, or default, is reported for itself.
  if (
    Object.hasOwn(config.aliases, name) ||
    (name !== config.default && namedModel(name, config.aliases) === undefined)
  )
    return undefined;
  const providers = Object.keys(config.providers);
  const [prefix, ...rest] = name.split('/');
  // Without providers any name is answered offline, which nobody means by configuring one.
  if (providers.length === 0 && prefix !== offline) {
    return `'${name}' does not name a provider: ${hint(prefix!, rest.join('/'), providers)}`;
  }
  const mayList = (provider: string) => {
    const listed = discovered(provider);
    return listed.length > 0 ? listed : [name];
  };
  if (targetsOf(name, { ...known, discovered: mayList }) !== undefined) return undefined;
  const models = config.providers[prefix!]?.models;
  if (models !== undefined) return `'${name}' is not in models.providers.${prefix}.models`;
  if (rest.length > 0) return `'${name}' does not name a provider: ${hint(prefix!, rest.join('/'), providers)}`;
  return `'${name}' is not a model of any provider: write ${providers[0]}/${name}, or another provider before the name`;
}

/** The targets of a name, as `provider/model`. Undefined if none is known. */
export function targetsOf(name: string, known: Known): string[] | undefined {
  try {
    const targets = resolveModel(name, { ...known, providers: Object.keys(known.config.providers) });
    return targets.map(({ provider, model }) => (model === undefined ? provider : `${provider}/${model}`));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function hint(prefix: string, model: string, providers: readonly string[]): string {
  const vendor = knownProviders.find(({ name }) => name === prefix && !providers.includes(name));
  if (vendor !== undefined) return `${prefix} is not configured. Set ${vendor.variable}`;
  if (providers.length === 0) return 'none is configured, and the offline model would answer for it';
  const first = `${providers[0]}/${prefix}${model === '' ? '' : `/${model}`}`;
  return `there is no '${prefix}', only ${providers.join(', ')}. For a model of that name, write ${first}`;
}

function isCircle(alias: string, config: Config['models'], path: readonly string[] = []): boolean {
  if (path.includes(alias)) return alias === path[0];
  const targets = Object.hasOwn(config.aliases, alias) ? [config.aliases[alias]!].flat() : [];
  const names = targets.map((target) => namedModel(target, config.aliases) ?? config.default);
  return names.some((name) => name !== undefined && isCircle(name, config, [...path, alias]));
}
