// Refuses to listen on a public address without keys, unless the operator has turned keys off.
import { isLoopback } from '../check-config.js';
import { ConfigError } from '../config-error.js';
import { environmentName } from '../environment.js';
import type { Config } from '../schema.js';

export const firstKeyCommand = 'npx signalbox keys create --owner root --scopes admin';

/** @throws ConfigError */
export function checkExposure({ server, auth }: Config, keysRequired: boolean): void {
  if (keysRequired || auth.mode === 'off' || isLoopback(server.host)) return;
  const message =
    `${server.host} can be reached from outside and there are no keys: create one with \`${firstKeyCommand}\`, ` +
    `listen on 127.0.0.1, or set ${environmentName(['auth', 'mode'])}=off to serve everyone who can reach it`;
  throw new ConfigError([{ key: 'server.host', message }]);
}
