// The verdict on a configuration, and what `npm run config -- check` prints and exits with: the configuration in force with that
// verdict, or everything that is wrong with it. Asks no provider and starts no server.
import { ConfigError } from '#libs/config/config-error.js';
import { envFileInForce, processEnvironment } from '#libs/config/files/env-file.js';
import { configSource } from '#libs/config/load-config.js';
import { type Origins, readConfigWithOrigins } from '#libs/config/read-config.js';
import { listSettings } from '#libs/config/printing/list-settings.js';
import type { Config } from '#libs/config/schema.js';
import { misnamedModels, targetsOf } from '../../apps/gateway/models/routing/check-models.js';
import { checkServers } from './check-servers.js';
import { checkToolsets } from './check-toolsets.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigurationFinding {
  /** `note`: nothing is wrong yet. */
  state: 'ok' | 'note' | 'wrong';
  /** The path of the setting, or a part of the configuration. */
  what: string;
  message: string;
}

const offlineModel = 'offline';

export interface CheckedConfiguration {
  config: Config;
  origins: Origins;
  findings: ConfigurationFinding[];
}

/**
 * @param given instead of the environment of this process and its `.env`
 * @throws ConfigError with everything that keeps it from being read
 */
export async function checkedConfiguration(given?: Environment): Promise<CheckedConfiguration> {
  const environment = given ?? processEnvironment();
  const source = configSource(environment);
  const { config, origins } = readConfigWithOrigins(source);
  const findings = [
    fine('configuration', source.file?.path ?? 'no file: defaults and variables'),
    ...(given === undefined ? envFileFinding() : []),
    ...modelFindings(config.models),
    ...(await checkServers(config, environment)).map(({ name, refused, note }) =>
      refused === undefined ? fine(`mcpServers.${name}`, note) : wrong(`mcpServers.${name}`, refused),
    ),
    ...(await checkToolsets(config)).map(({ name, note, unmatched }) => ({
      state: unmatched.length === 0 ? ('ok' as const) : ('note' as const),
      what: `toolsets.${name}`,
      message: unmatched.length === 0 ? note : `${note}; no tool that is known matches ${unmatched.join(', ')}`,
    })),
  ];
  return { config, origins, findings };
}

/** @param given as of `checkedConfiguration` */
export async function checkConfiguration(given?: Environment): Promise<{ text: string; status: 0 | 1 }> {
  try {
    const { config, origins, findings } = await checkedConfiguration(given);
    const isFine = !findings.some(({ state }) => state === 'wrong');
    const verdict = `The configuration ${verdictOn(findings)}.`;
    const text = [printConfig(config, origins), '', ...linesOf(findings, origins), '', verdict].join('\n');
    return { text, status: isFine ? 0 : 1 };
  } catch (error) {
    if (error instanceof ConfigError) return { text: error.message, status: 1 };
    throw error;
  }
}

export function verdictOn(findings: readonly ConfigurationFinding[]): string {
  const problems = findings.filter(({ state }) => state === 'wrong').length;
  if (problems === 0) return 'is fine';
  return problems === 1 ? 'has a problem' : `has ${problems} problems`;
}

const fine = (what: string, message: string): ConfigurationFinding => ({ state: 'ok', what, message });
const wrong = (what: string, message: string): ConfigurationFinding => ({ state: 'wrong', what, message });

function envFileFinding(): ConfigurationFinding[] {
  const file = envFileInForce();
  return file === undefined ? [] : [fine('.env', file.path)];
}

function modelFindings(models: Config['models']): ConfigurationFinding[] {
  const misnamed = misnamedModels(models, offlineModel);
  const isMisnamed = (setting: string) => misnamed.some((each) => each.setting === setting);
  const names = Object.keys(models.providers);
  const providers = names.length === 0 ? `none: the ${offlineModel} model answers` : names.join(', ');
  return [
    fine('models.providers', providers),
    ...(models.default === undefined || isMisnamed('models.default') ? [] : [fine('models.default', whither(models))]),
    ...misnamed.map(({ setting, message }) => wrong(setting, message)),
  ];
}

/** The default model, and where it leads if its name does not say so. */
function whither(models: Config['models']): string {
  const name = models.default!;
  const targets = targetsOf(name, { config: models, offline: offlineModel, discovered: () => [] });
  if (targets === undefined) return `${name}, of the provider that lists it`;
  const shown = targets.join(', ');
  return shown === name || name === offlineModel ? name : `${name}, which is ${shown}`;
}

function linesOf(findings: readonly ConfigurationFinding[], origins: Origins): string[] {
  const width = Math.max(...findings.map(({ what }) => what.length));
  return findings.map(({ state, what, message }) => {
    const origin = state === 'wrong' ? origins.get(what.replace(/\[\d+\]$/, '')) : undefined;
    return `${state.padEnd(5)}  ${what.padEnd(width)}  ${message}${origin === undefined ? '' : ` (${origin})`}`;
  });
}

/** All settings with masked secrets, and where each value comes from. */
function printConfig(config: Config, origins: Origins): string {
  const rows = listSettings(config, origins).map(
    ({ key, value, origin = 'default' }) => [key, JSON.stringify(value), origin] as const,
  );
  const keyWidth = Math.min(52, Math.max(...rows.map(([key]) => key.length)));
  const valueWidth = Math.min(44, Math.max(...rows.map(([, value]) => value.length)));
  return rows
    .map(([key, value, origin]) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${origin}`)
    .join('\n');
}
