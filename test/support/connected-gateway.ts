// A gateway with an authorization server, and keys of several people, for tests of what callers do with connections.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAuthorizationServer, type AuthorizationServer } from './authorization-server.js';
import { freePort } from './services/free-port.js';
import { temporaryDirectory } from './services/start-process.js';
import { type SignalboxHere, startSignalboxHere } from './services/start-signalbox.js';

export interface ConnectedGateway {
  box: SignalboxHere;
  issuer: AuthorizationServer;
  keys: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** `people`: the owners of keys and what else is asked for. The servers are `hub` (oauth) and `desk` (headers). */
export async function openConnectedGateway(
  people: Readonly<Record<string, object>>,
  config: object = {},
): Promise<ConnectedGateway> {
  const issuer = await startAuthorizationServer({ idToken: true });
  const directory = await temporaryDirectory();
  const file = join(directory.path, 'signalbox.yaml');
  const url = issuer.mcpUrl;
  const mcpServers = {
    hub: { url, auth: { kind: 'oauth' } },
    desk: { url, auth: { kind: 'headers', names: ['X-Key'] } },
    ledger: { url, auth: { kind: 'client_credentials', client_id: 'us', client_secret: '${LEDGER_SECRET}' } },
  };
  writeFileSync(file, JSON.stringify({ ...config, mcpServers }));
  const box = await startSignalboxHere({
    workers: 0,
    scripted: false,
    environment: {
      SIGNALBOX_CONFIG: file,
      PORT: String(await freePort()),
      VAULT_KEY: randomBytes(32).toString('base64'),
      LEDGER_SECRET: 'secret-of-the-ledger',
    },
  });
  const keys: Record<string, string> = {};
  for (const [owner, members] of Object.entries(people)) {
    const [admin] = Object.values(keys);
    const answer = await fetch(`${box.url}/api/keys`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(admin === undefined ? {} : { authorization: `Bearer ${admin}` }),
      },
      body: JSON.stringify({ owner, ...members }),
    });
    keys[owner] = ((await answer.json()) as { key: string }).key;
  }
  return {
    box,
    issuer,
    keys,
    async close() {
      await box.close();
      await issuer.stop();
      await directory.remove();
    },
  };
}
