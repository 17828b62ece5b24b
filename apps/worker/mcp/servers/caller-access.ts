// How a server over HTTP is shown whose rights a call has: by credentials of `auth`, or by a statement about the caller (`identity`).
import type { StatementMint } from '#libs/access/identity/caller-statement.js';
import type { ServerConfig } from '#libs/config/schema.js';
import { missingVaultKey } from '#libs/connections/vault.js';
import { CommandRefused } from '../../sandbox/resolve-command.js';
import { callScope, type ToolCallOptions } from '../wire/call-scope.js';
import type { ConfiguredServer, PoolUser } from './configured-server.js';
import { type ServerCredentials, ServerAccess } from './server-access.js';

export type UrlServer = ServerConfig & { url: string };

export interface AccessParts {
  /** Signs who calls, for servers with `identity`. */
  statements?: Pick<StatementMint, 'state'>;
  /** Tokens for servers with `auth`; absent without a key of the vault. */
  connections?: ServerCredentials | undefined;
}

/** The principal is that of the instance, whatever call it is used for. @throws CommandRefused */
export function statementOf({ identity, url }: UrlServer, { statements }: AccessParts): ConfiguredServer['statement'] {
  if (identity === undefined) return undefined;
  if (statements === undefined) throw new CommandRefused('nothing here can sign who calls it');
  const audience = (typeof identity === 'object' ? identity.audience : undefined) ?? url;
  return async ({ principal }, call) => {
    const { roles, sessionId, runId } = call?.job ?? {};
    const statement = await statements.state({ principal, roles, sessionId, runId }, audience);
    call?.holdSecrets?.([statement]);
    return statement;
  };
}

/** The header of each request, which may belong to a call of the user, or be the connection's own. */
export function statementHeader({ identity }: UrlServer, statement: ConfiguredServer['statement'], user: PoolUser) {
  if (statement === undefined) return undefined;
  const value = (call = callScope.getStore()) => statement(user, call);
  const { header } = typeof identity === 'object' ? identity : {};
  return header === undefined
    ? { name: 'authorization', value: async (call?: ToolCallOptions) => `Bearer ${await value(call)}` }
    : { name: header, value };
}

/** @throws CommandRefused without a key of the vault, which a configuration that is read again may need */
function connectionsOf({ connections }: AccessParts): ServerCredentials {
  if (connections === undefined) throw new CommandRefused(`it ${missingVaultKey}`);
  return connections;
}

export function usersOf(name: string, { auth }: ServerConfig, parts: AccessParts): ConfiguredServer['users'] {
  if (auth === undefined) return undefined;
  const { store } = connectionsOf(parts);
  return auth.kind === 'client_credentials' ? undefined : { anyConnected: () => store.anyConnected(name) };
}

export function serverAccessOf(
  name: string,
  { url, auth }: UrlServer,
  { principal }: PoolUser,
  parts: AccessParts,
): ServerAccess | undefined {
  return auth && new ServerAccess({ name, url, auth }, principal, connectionsOf(parts));
}
