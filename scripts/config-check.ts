// What `npm run config check` prints and exits with: the configuration in force, or everything that is wrong with it.
import { ConfigError } from '#libs/config/config-error.js';
import { configSource } from '#libs/config/load-config.js';
import { printConfig } from '#libs/config/printing/print-config.js';
import { readConfigWithOrigins } from '#libs/config/read-config.js';

export function checkConfiguration(environment: Readonly<Record<string, string | undefined>>): {
  text: string;
  status: 0 | 1;
} {
  try {
    const { config, origins } = readConfigWithOrigins(configSource(environment));
    return { text: printConfig(config, origins), status: 0 };
  } catch (error) {
    if (error instanceof ConfigError) return { text: error.message, status: 1 };
    throw error;
  }
}
