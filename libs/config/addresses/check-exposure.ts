// Whether the gateway may listen where it is told to: off loopback only with keys, or where the operator says without.
import { isLoopback } from '../check-config.js';
import { ConfigError } from '../config-error.js';
import { environmentName } from '../environment.js';
import type { Config } from '../schema.js';

/** @throws ConfigError */
export function checkExposure({ server, auth }: Config, keysRequired: boolean): void {
  if (keysRequired || auth.mode === 'off' || isLoopback(server.host)) return;
  const message =
    `${server.host} can be reached from outside and there are no keys: make one with \`npm run keys -- create\`, ` +
    `listen on 127.0.0.1, or say ${environmentName(['auth', 'mode'])}=off to serve everyone who can reach it`;
  throw new ConfigError([{ key: 'server.host', message }]);
}
