// Reads the real environment and the real file, once, for main.ts and scripts; everything else is handed a Config.
import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.js';
import { readConfig, type ConfigSource } from './read-config.js';
import type { Config } from './schema.js';

/** Names the file; without it `signalbox.yaml` in the working directory is taken if it is there. */
const FILE_VARIABLE = 'SIGNALBOX_CONFIG';
const DEFAULT_FILE = 'signalbox.yaml';

/** @throws ConfigError */
export function loadConfig(environment = process.env): Config {
  return readConfig(configSource(environment));
}

/** @throws ConfigError when the named file cannot be read */
export function configSource(environment: Readonly<Record<string, string | undefined>> = process.env): ConfigSource {
  const file = readConfigFile(environment[FILE_VARIABLE]);
  return {
    environment,
    ...(file === undefined ? {} : { file }),
    readSecretFile: (path) => readFileSync(path, 'utf8'),
  };
}

function readConfigFile(named: string | undefined): ConfigSource['file'] {
  const path = named === undefined || named === '' ? DEFAULT_FILE : named;
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    if (code === 'ENOENT' && path !== named) return undefined;
    throw new ConfigError([{ key: FILE_VARIABLE, message: `${path} cannot be read: ${code}`, origin: 'environment' }]);
  }
}
