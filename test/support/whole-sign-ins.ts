// Gateways and workers as processes of their own, an authorization server with the MCP server that it protects, and people with keys
// and browsers: for whole sign-ins, from the call that needs one to its result.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from './authorization-server.js';
import { BrowserClient } from './browser-client.js';
import type { ReceivedRequest } from './scripted-upstream.js';
import { messagesOf, rounds } from './scripts.js';
import { freePort } from './services/free-port.js';
import type { StartedProcess } from './services/start-process.js';
import { type Signalbox, startSignalbox } from './services/start-signalbox.js';

export type Person = 'root' | 'ada' | 'bob';

export interface WholeSignIns {
  box: Signalbox;
  issuer: AuthorizationServer;
  /** Every page and answer of the API that anybody has got here. */
  shown: string[];
  keyOf(person: Person): string;
  headersOf(person: Person): Record<string, string>;
  startGateway(environment?: Record<string, string>): Promise<StartedProcess>;
  /** Writes the configuration file, from which running processes follow it. */
  configure(mcpServers: object): void;
  ask(person: Person, method: string, path: string, body?: object): Promise<{ status: number; body: JsonObject }>;
  /** Opens the address in a new browser and signs in at the issuer. Returns where the issuer sends the browser. */
  goToIssuer(person: Person, address: unknown): Promise<{ browser: BrowserClient; back: URL }>;
  /** The whole of it; `gateway` takes the callback. Returns the status and the last page. */
  signIn(person: Person, address: unknown, gateway?: string): Promise<{ status: number; page: string }>;
  /** Until the tools are offered to the person. */
  offered(person: Person, ...tools: string[]): Promise<void>;
  close(): Promise<void>;
}

const patient = { timeout: 30_000, interval: 100 };
/** The names of both tools of the protected server, for a server that is not the first. */
export const renamed = (server: string) => ({ rename: { whoami: `${server}_whoami`, write: `${server}_write` } });

const lastText = (request: ReceivedRequest) => messagesOf(request).at(-1)!['content'] as string;

/** The model calls the tool that the last message of the user names, and then says what it returned. */
const script = rounds(
  (request) => {
    const [, name = 'whoami'] = /^Call (\w+)/.exec(lastText(request)) ?? [];
    return { toolCalls: [{ id: 'call_1', name, arguments: {} }] };
  },
  (request) => ({ text: `It says: ${lastText(request)}` }),
);

export async function startWholeSignIns(
  servers: (url: string) => object,
  options: AuthorizationServerOptions & { gateways?: number } = {},
): Promise<WholeSignIns> {
  const { gateways = 1, ...ofIssuer } = options;
  const issuer = await startAuthorizationServer({ listsOpenly: true, ...ofIssuer });
  issuer.clients.set('us', { secret: 'canary-secret-of-the-ledger', method: 'client_secret_basic' });
  issuer.tokens.push('canary-secret-of-the-ledger');
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-whole-sign-ins-'));
  const file = join(directory, 'signalbox.yaml');
  const configure = (mcpServers: object) => {
    writeFileSync(`${file}~`, JSON.stringify({ mcpServers }));
    renameSync(`${file}~`, file);
  };
  configure(servers(issuer.mcpUrl));
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const box = await startSignalbox({
    script,
    gateways: 0,
    environment: {
      SIGNALBOX_CONFIG: file,
      LOG_LEVEL: 'debug',
      SERVER_PUBLIC_URL: publicUrl,
      VAULT_KEY: randomBytes(32).toString('base64'),
      LEDGER_SECRET: 'canary-secret-of-the-ledger',
      // One address asks for everybody here.
      LIMITS_FAILED_SIGN_INS_PER_MINUTE: '1000',
      LIMITS_PRINCIPAL_TURNS: '200',
    },
  });
  // The browser reaches only the first one, unless a test says otherwise.
  for (let at = 0; at < gateways; at++) await box.startGateway(at === 0 ? { PORT: String(port) } : {});
  box.url = publicUrl;
  const shown: string[] = [];
  const keys: Partial<Record<Person, string>> = {};
  const headersOf = (person: Person) => ({ authorization: `Bearer ${keys[person]}` });

  const ask: WholeSignIns['ask'] = async (person, method, path, body) => {
    const answer = await fetch(path.startsWith('http') ? path : box.url + path, {
      method,
      headers: {
        ...(keys[person] === undefined ? {} : headersOf(person)),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    shown.push(text);
    return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as JsonObject) };
  };
  for (const [owner, scopes] of [
    ['root', ['admin', 'chat', 'tools']],
    ['ada', ['chat', 'tools']],
    ['bob', ['chat', 'tools']],
  ] as const) {
    const headers = { 'content-type': 'application/json', ...(keys.root === undefined ? {} : headersOf('root')) };
    const body = JSON.stringify({ owner, scopes });
    const made = (await (await fetch(`${box.url}/api/keys`, { method: 'POST', headers, body })).json()) as {
      key: string;
    };
    keys[owner] = made.key;
  }

  const goToIssuer: WholeSignIns['goToIssuer'] = async (person, address) => {
    issuer.user = person;
    const browser = new BrowserClient(box.url);
    const opened = await browser.post(String(address));
    const to = opened.headers.get('location');
    if (to === null) throw new Error(`the page answered ${opened.status}: ${await opened.text()}`);
    return { browser, back: await issuer.signIn(to) };
  };
  const offered: WholeSignIns['offered'] = (person, ...tools) =>
    vi.waitFor(async () => {
      for (const { url } of box.gateways) {
        const { body } = await ask(person, 'GET', `${url}/api/tools`);
        const names = (body['data'] as { function: { name: string } }[]).map((each) => each.function.name);
        const missing = tools.filter((tool) => !names.includes(tool));
        if (missing.length > 0) throw new Error(`not offered: ${missing.join(', ')}; but ${names.join(', ')}`);
      }
    }, patient);

  return {
    box,
    issuer,
    shown,
    keyOf: (person) => keys[person]!,
    headersOf,
    startGateway: async (environment = {}) => {
      const gateway = await box.startGateway(environment);
      await vi.waitFor(async () => {
        const { body } = await ask('ada', 'GET', `${gateway.url}/api/tools`);
        if ((body['data'] as object[]).length === 0) throw new Error('the gateway knows no tools');
      }, patient);
      return gateway;
    },
    configure,
    ask,
    goToIssuer,
    async signIn(person, address, gateway = box.url) {
      const { browser, back } = await goToIssuer(person, address);
      const answer = await browser.get(gateway + back.pathname + back.search);
      const page = await answer.text();
      shown.push(page);
      return { status: answer.status, page };
    },
    offered,
    async close() {
      await box.close();
      await issuer.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
