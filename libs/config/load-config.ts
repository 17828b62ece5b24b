// Loads the configuration from the real environment, `.env` and files, at the start and for reloads. All other code gets a Config.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from './config-error.js';
import { envFileInForce, processEnvironment } from './files/env-file.js';
import { readConfig, type ConfigSource } from './read-config.js';
import { policyFilePath } from './policy-file.js';
import type { Config } from './schema.js';

/** The path of the file. Default: `signalbox.yaml` in the working directory, if it exists. */
const fileVariable = 'SIGNALBOX_CONFIG';
const defaultFile = 'signalbox.yaml';

/** @throws ConfigError */
export function loadConfig(environment = processEnvironment()): Config {
  return readConfig(configSource(environment));
}

export interface ConfigReader {
  /** The file, which need not exist. */
  path: string;
  /** @throws ConfigError, also if the file existed before and does not now */
  read(): Config;
}

export function openConfigReader(environment = processEnvironment()): ConfigReader {
  const path = configPath(environment[fileVariable]);
  let existed = existsSync(path);
  return {
    path,
    read() {
      const source = configSource(environment);
      if (source.file === undefined && existed) throw new ConfigError([{ key: path, message: 'no longer exists' }]);
      const config = readConfig(source);
      existed = source.file !== undefined;
      return config;
    },
  };
}

/** @throws ConfigError if the file named by SIGNALBOX_CONFIG cannot be read */
export function configSource(
  environment: Readonly<Record<string, string | undefined>> = processEnvironment(),
): ConfigSource {
  const file = readConfigFile(environment[fileVariable]);
  const envFile = environment === process.env ? envFileInForce() : undefined;
  return {
    environment,
    ...(envFile === undefined ? {} : { fromEnvFile: envFile.names }),
    ...(file === undefined ? {} : { file }),
    readSecretFile: (path) => readFileSync(path, 'utf8'),
    readPolicyFile: (path) => readFileSync(policyFilePath(configPath(environment[fileVariable]), path), 'utf8'),
  };
}

/** The absolute paths of all files that the configuration comes from, including secrets. Tools must not read them. */
export function configurationFiles(
  environment: Readonly<Record<string, string | undefined>> = processEnvironment(),
): string[] {
  const files = [configPath(environment[fileVariable])];
  const envFile = environment === process.env ? envFileInForce() : undefined;
  if (envFile !== undefined) files.push(envFile.path);
  const readSecretFile = (path: string) => {
    files.push(path);
    return readFileSync(path, 'utf8');
  };
  const { policy } = readConfig({ ...configSource(environment), readSecretFile });
  if (policy.file !== undefined) files.push(policyFilePath(files[0]!, policy.file));
  return files.map((path) => resolve(path));
}

function readConfigFile(named: string | undefined): ConfigSource['file'] {
  const path = configPath(named);
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    if (code === 'ENOENT' && path !== named) return undefined;
    throw new ConfigError([{ key: fileVariable, message: `${path} cannot be read: ${code}`, origin: 'environment' }]);
  }
}

function configPath(named: string | undefined): string {
  return named === undefined || named === '' ? defaultFile : named;
}
