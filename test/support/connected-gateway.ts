// A gateway with an authorization server, and keys of several people, for tests of what callers do with connections.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  startAuthorizationServer,
  type AuthorizationServer,
  type AuthorizationServerOptions,
} from './authorization-server.js';
import { BrowserClient } from './browser-client.js';
import { freePort } from './services/free-port.js';
import { temporaryDirectory } from './services/start-process.js';
import { type SignalboxHere, type SignalboxOptions, startSignalboxHere } from './services/start-signalbox.js';

export interface Answered {
  status: number;
  text: string;
  body: {
    data?: { server: string }[];
    authorization_url?: string;
    error?: { param?: string };
    [member: string]: unknown;
  };
}

export interface ConnectedGateway {
  box: SignalboxHere;
  issuer: AuthorizationServer;
  keys: Readonly<Record<string, string>>;
  /** By the API, with the key of the owner. */
  ask(owner: string, method: string, path: string, body?: object): Promise<Answered>;
  connectionOf(owner: string, server?: string): Promise<{ server: string } | undefined>;
  /** The address that the user opens. */
  begin(owner: string): Promise<string>;
  browser(language?: string): BrowserClient;
  /** From the address to what the issuer sends the browser back to. */
  signIn(there: BrowserClient, address: string): Promise<string>;
  /** The rows about connections, the oldest first. */
  audit(): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export interface ConnectedGatewayMembers {
  issuer?: AuthorizationServerOptions;
  /** Default: without a worker, and with the offline model. */
  box?: SignalboxOptions;
  /** Which of the servers are configured; default: all. */
  servers?: readonly string[];
}

/** `people`: the owners of keys and what else is asked for. The servers are `hub` (oauth) and `desk` (headers). */
export async function openConnectedGateway(
  people: Readonly<Record<string, object>>,
  config: object = {},
  { issuer: issuerOptions, box: boxOptions, servers }: ConnectedGatewayMembers = {},
): Promise<ConnectedGateway> {
  const issuer = await startAuthorizationServer({ idToken: true, ...issuerOptions });
  const directory = await temporaryDirectory();
  const file = join(directory.path, 'signalbox.yaml');
  const url = issuer.mcpUrl;
  const all = {
    hub: { url, auth: { kind: 'oauth' } },
    desk: { url, auth: { kind: 'headers', names: ['X-Key'] } },
    ledger: { url, auth: { kind: 'client_credentials', client_id: 'us', client_secret: '${LEDGER_SECRET}' } },
  };
  const mcpServers = Object.fromEntries(Object.entries(all).filter(([name]) => servers?.includes(name) ?? true));
  writeFileSync(file, JSON.stringify({ ...config, mcpServers }));
  const box = await startSignalboxHere({
    workers: 0,
    scripted: false,
    ...boxOptions,
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
  const ask: ConnectedGateway['ask'] = async (owner, method, path, body) => {
    const answer = await fetch(box.url + path, {
      method,
      headers: {
        authorization: `Bearer ${keys[owner]}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, text, body: (text === '' ? {} : JSON.parse(text)) as Answered['body'] };
  };
  return {
    box,
    issuer,
    keys,
    ask,
    connectionOf: async (owner, server = 'hub') =>
      (await ask(owner, 'GET', '/api/connections')).body.data!.find((each) => each.server === server),
    begin: async (owner) => (await ask(owner, 'POST', '/api/connections/hub')).body.authorization_url!,
    browser: (language) => new BrowserClient(box.url, language),
    async signIn(there, address) {
      const opened = await there.post(address);
      const to = opened.headers.get('location');
      if (to === null) throw new Error(`the page answered ${opened.status}: ${await opened.text()}`);
      return (await issuer.signIn(to)).href;
    },
    audit: () =>
      box.rows(
        `select principal, server, state, error_code, ip, request_id <> '' as asked from audit_events
         where kind = 'connection' order by at`,
      ),
    async close() {
      await box.close();
      await issuer.stop();
      await directory.remove();
    },
  };
}
