// What is wrong with the names of the configuration: a default and aliases that lead to no model. Pure: no provider is asked.
import { knownProviders } from '#libs/config/environment.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import { namedModel, resolveModel } from './resolve-model.js';

export interface MisnamedModel {
  /** Of the setting: `models.aliases.best[1]`. */
  setting: string;
  message: string;
}

export function misnamedModels(config: Config['models'], offline: string): MisnamedModel[] {
  const found: MisnamedModel[] = [];
  const check = (setting: string, name: string) => {
    const message = problemOf(name, config, offline);
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

function problemOf(name: string, config: Config['models'], offline: string): string | undefined {
  // What is wrong with an alias is said of the alias.
  if (Object.hasOwn(config.aliases, name)) return undefined;
  const providers = Object.keys(config.providers);
  const [prefix, ...rest] = name.split('/');
  if (prefix === offline || Object.values(config.providers).some(({ models }) => models?.includes(name))) {
    return undefined;
  }
  if (providers.length === 0 || (rest.length > 0 && !providers.includes(prefix!))) {
    return `'${name}' names no provider: ${hint(prefix!, rest.join('/'), providers)}`;
  }
  try {
    resolveModel(name, { providers, offline, config: { ...config, default: undefined }, discovered: () => [] });
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const models = config.providers[prefix!]?.models;
    if (models !== undefined) return `'${name}' is not in models.providers.${prefix}.models`;
    return `'${name}' is a model of none: write ${providers[0]}/${name}, or another provider before its name`;
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
