// Checks that involve several keys, and refusals for safety.
import { isIP } from 'node:net';
import { readSigningKey } from '#libs/audit/chain/checkpoint.js';
import { authProblem } from './servers/auth-problem.js';
import { formatKey, type ConfigProblem } from './config-error.js';
import { environmentName } from './environment.js';
import { isOwnHeader } from './servers/own-headers.js';
import { serverAddress } from './servers/server-address.js';
import { parseRedisUrl, RedisUrlError } from './addresses/redis-url.js';
import type { Config, ServerConfig } from './schema.js';
import type { Path } from './printing/schema-walk.js';
import { readVaultKeys, vaultKeyCommand } from '#libs/connections/vault-keys.js';

export function checkConfig(config: Config, originOf: (path: Path) => string | undefined): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const problem = (path: Path, message: string) =>
    problems.push({ key: formatKey(path), message, origin: originOf(path) });

  if (config.isolation.minimum === 'none' && !config.isolation.allow_unsandboxed) {
    problem(
      ['isolation', 'minimum'],
      `none runs tool servers without any protection: set ${environmentName(['isolation', 'allow_unsandboxed'])}=1 ` +
        'to allow it',
    );
  }
  if (config.auth.jwt !== undefined && config.auth.mode === 'off') {
    problem(['auth', 'jwt'], 'tokens are not checked while auth.mode is off');
  }
  if (config.vault.key !== undefined && readVaultKeys(config.vault.key) === undefined) {
    problem(['vault', 'key'], `must be 32 bytes in base64, or several of them: ${vaultKeyCommand}`);
  }
  if (config.audit.signing_key !== undefined && readSigningKey(config.audit.signing_key) === undefined) {
    problem(['audit', 'signing_key'], 'must be a private Ed25519 key in PEM: openssl genpkey -algorithm ed25519');
  }
  for (const name of ['url', 'owner_url', 'reader_url'] as const) {
    const url = config.database[name];
    if (url === undefined || isPostgresUrl(url)) continue;
    const form = 'must be postgres://user:password@host:5432/database';
    problem(['database', name], `${form}; a password with / ? # or @ in it is percent-encoded`);
  }
  if (config.redis.url !== undefined) {
    const message = redisProblem(config.redis.url);
    if (message !== undefined) problem(['redis', 'url'], message);
  }
  for (const [name, server] of Object.entries(config.mcpServers)) {
    const message = serverProblem(server, config.isolation.allow_unsandboxed);
    if (message !== undefined) problem(['mcpServers', name], message);
    if (server.enabled && server.auth?.kind === 'token_exchange' && config.auth.jwt === undefined) {
      problem(['mcpServers', name, 'auth'], 'exchanges tokens of an issuer: set auth.jwt');
    }
  }
  for (const name of Object.keys(config.toolsets)) {
    if (Object.hasOwn(config.mcpServers, name)) problem(['toolsets', name], 'is the name of a tool server too');
  }
  for (const [name, provider] of Object.entries(config.models.providers)) {
    if (provider.kind === 'openai' && provider.base_url === undefined) {
      problem(['models', 'providers', name, 'base_url'], 'is missing: an openai provider needs an address');
    }
  }
  for (const [alias, target] of Object.entries(config.models.aliases)) {
    if ([target].flat().includes(alias)) problem(['models', 'aliases', alias], 'names itself');
  }
  for (const [index, origin] of config.server.allowed_origins.entries()) {
    if (origin !== '*' && !isOrigin(origin)) {
      problem(['server', 'allowed_origins', index], `must be an origin such as https://example.com, got "${origin}"`);
    }
  }
  if (config.tools.max_timeout_ms < config.tools.timeout_ms) {
    problem(['tools', 'max_timeout_ms'], `is below tools.timeout_ms (${config.tools.timeout_ms})`);
  }
  if (config.tools.max_read_bytes < config.tools.max_result_bytes) {
    problem(['tools', 'max_read_bytes'], `is below tools.max_result_bytes (${config.tools.max_result_bytes})`);
  }
  return problems;
}

/** Whether only this machine can reach a server that listens on the host. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (bare === 'localhost') return true;
  switch (isIP(bare)) {
    case 4:
      return bare.startsWith('127.');
    case 6:
      return bare === '::1' || bare.startsWith('::ffff:127.');
    default:
      return false;
  }
}

const isPostgresUrl = (url: string) => /^postgres(?:ql)?:\/\//i.test(url) && URL.canParse(url);

function redisProblem(url: string): string | undefined {
  try {
    parseRedisUrl(url);
    return undefined;
  } catch (error) {
    if (error instanceof RedisUrlError) return error.message;
    throw error;
  }
}

function serverProblem(server: ServerConfig, allowUnsandboxed: boolean): string | undefined {
  const ways = (['builtin', 'command', 'url', 'openapi'] as const).filter((way) => server[way] !== undefined);
  if (ways.length !== 1) {
    const found = ways.length === 0 ? 'none of them' : ways.join(' and ');
    return `needs one of builtin, command, url, openapi; it has ${found}`;
  }
  if (server.command === undefined && server.args.length > 0) return 'has args but no command';
  if (typeof server.network === 'object' && server.command === undefined) return 'has network.allow but no command';
  if (server.transport !== undefined && server.url === undefined) return 'has a transport but no url';
  const isRemote = (server.url ?? server.openapi) !== undefined;
  if (server.forward_headers.length > 0 && !isRemote) return 'has forward_headers but no url';
  const api = apiProblem(server);
  if (api !== undefined) return api;
  if (server.identity !== undefined && serverAddress(server) === undefined) return 'has identity but no url';
  if (server.act_for_caller === true && (server.command ?? server.openapi) !== undefined)
    return `has act_for_caller but is ${server.command === undefined ? 'an API' : 'a command'}`;
  const refused = server.forward_headers.find(isOwnHeader);
  if (refused !== undefined) return `cannot forward the header '${refused}'`;
  const { header } = typeof server.identity === 'object' ? server.identity : {};
  if (header !== undefined && isOwnHeader(header)) return `cannot send the identity in the header '${header}'`;
  if (server.standbys > 0 && (server.command === undefined || server.scope === 'shared')) {
    return 'has standbys but is not a command with scope session';
  }
  if (server.standbys > server.max_instances) return `has more standbys than max_instances (${server.max_instances})`;
  if (server.isolation === 'none' && !allowUnsandboxed) return 'isolation none needs isolation.allow_unsandboxed';
  return authProblem(server);
}

function apiProblem({ openapi, base_url, operations, auth, identity }: ServerConfig): string | undefined {
  if (openapi === undefined) {
    if (base_url !== undefined) return 'has base_url but no openapi';
    return operations === undefined ? undefined : 'has operations but no openapi';
  }
  if (operations?.length === 0) return 'has operations without any: leave it out for all of them';
  // Nothing that a document says decides who gets credentials of users.
  if (base_url === undefined && auth !== undefined) return 'has auth but no base_url';
  return base_url === undefined && identity !== undefined ? 'has identity but no base_url' : undefined;
}

function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text;
  } catch {
    return false;
  }
}
