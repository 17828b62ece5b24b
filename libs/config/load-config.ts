// Reads the real environment and the real file, for main.ts and scripts, and again for a worker that reloads; everything
// else is handed a Config.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from './config-error.js';
import { readConfig, type ConfigSource } from './read-config.js';
import { policyFilePath } from './policy-file.js';
import type { Config } from './schema.js';

/** Names the file; without it `signalbox.yaml` in the working directory is taken if it is there. */
const fileVariable = 'SIGNALBOX_CONFIG';
const defaultFile = 'signalbox.yaml';

/** @throws ConfigError */
export function loadConfig(environment = process.env): Config {
  return readConfig(configSource(environment));
}

/** Reads the same places again. */
export interface ConfigReader {
  /** The file, whether it is there or not. */
  path: string;
  /** @throws ConfigError; also when a file that was there has gone: that is no empty configuration. */
  read(): Config;
}

export function openConfigReader(environment = process.env): ConfigReader {
  const path = configPath(environment[fileVariable]);
  let wasThere = existsSync(path);
  return {
    path,
    read() {
      const source = configSource(environment);
      if (source.file === undefined && wasThere) throw new ConfigError([{ key: path, message: 'has gone' }]);
      const config = readConfig(source);
      wasThere = source.file !== undefined;
      return config;
    },
  };
}

/** @throws ConfigError when the named file cannot be read */
export function configSource(environment: Readonly<Record<string, string | undefined>> = process.env): ConfigSource {
  const file = readConfigFile(environment[fileVariable]);
  return {
    environment,
    ...(file === undefined ? {} : { file }),
    readSecretFile: (path) => readFileSync(path, 'utf8'),
    readPolicyFile: (path) => readFileSync(policyFilePath(configPath(environment[fileVariable]), path), 'utf8'),
  };
}

/** The files that the configuration comes from, secrets included, as absolute paths: they are for nobody else. */
export function configurationFiles(environment: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const files = [configPath(environment[fileVariable])];
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
