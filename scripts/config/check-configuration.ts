// What `npm run config -- check` prints and exits with: the configuration in force and a verdict on it, or everything that is
// wrong with it. Asks no provider and starts no server.
import { ConfigError } from '#libs/config/config-error.js';
import { envFileInForce, processEnvironment } from '#libs/config/files/env-file.js';
import { configSource } from '#libs/config/load-config.js';
import { printConfig } from '#libs/config/printing/print-config.js';
import { type Origins, readConfigWithOrigins } from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';
import { misnamedModels } from '../../apps/gateway/models/routing/check-models.js';
import { checkServers } from './check-servers.js';

type Environment = Readonly<Record<string, string | undefined>>;

interface Finding {
  isWrong: boolean;
  /** The path of the setting, or a part of the configuration. */
  what: string;
  message: string;
}

const offlineModel = 'offline';

/** @param given instead of the environment of this process and its `.env` */
export async function checkConfiguration(given?: Environment): Promise<{ text: string; status: 0 | 1 }> {
  try {
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
    ];
    const problems = findings.filter(({ isWrong }) => isWrong).length;
    const verdict = `The configuration ${problems === 0 ? 'is fine.' : `has ${problems === 1 ? 'a problem' : `${problems} problems`}.`}`;
    const text = [printConfig(config, origins), '', ...linesOf(findings, origins), '', verdict].join('\n');
    return { text, status: problems === 0 ? 0 : 1 };
  } catch (error) {
    if (error instanceof ConfigError) return { text: error.message, status: 1 };
    throw error;
  }
}

const fine = (what: string, message: string): Finding => ({ isWrong: false, what, message });
const wrong = (what: string, message: string): Finding => ({ isWrong: true, what, message });

function envFileFinding(): Finding[] {
  const file = envFileInForce();
  return file === undefined ? [] : [fine('.env', file.path)];
}

function modelFindings(models: Config['models']): Finding[] {
  const misnamed = misnamedModels(models, offlineModel);
  const isMisnamed = (setting: string) => misnamed.some((each) => each.setting === setting);
  const names = Object.keys(models.providers);
  const providers = names.length === 0 ? `none: the ${offlineModel} model answers` : names.join(', ');
  return [
    fine('models.providers', providers),
    ...(models.default === undefined || isMisnamed('models.default') ? [] : [fine('models.default', models.default)]),
    ...misnamed.map(({ setting, message }) => wrong(setting, message)),
  ];
}

function linesOf(findings: readonly Finding[], origins: Origins): string[] {
  const width = Math.max(...findings.map(({ what }) => what.length));
  return findings.map(({ isWrong, what, message }) => {
    const origin = isWrong ? origins.get(what.replace(/\[\d+\]$/, '')) : undefined;
    return `${isWrong ? 'wrong' : 'ok   '}  ${what.padEnd(width)}  ${message}${origin === undefined ? '' : ` (${origin})`}`;
  });
}
