// What is wrong with `auth` of a tool server.
import { isOwnHeader } from './own-headers.js';
import { serverAddress } from './server-address.js';
import type { ServerConfig } from '../schema.js';
import type { ServerAuth } from '../schemas/auth-schema.js';

const members: Record<ServerAuth['kind'], { needed: readonly Member[]; possible: readonly Member[] }> = {
  oauth: { needed: [], possible: ['scopes', 'client_id', 'client_secret', 'issuer'] },
  client_credentials: { needed: ['client_id', 'client_secret'], possible: ['scopes', 'issuer'] },
  token_exchange: {
    needed: [],
    possible: [
      'scopes',
      'client_id',
      'client_secret',
      'audience',
      'id_jag',
      'server_client_id',
      'server_client_secret',
    ],
  },
  headers: { needed: ['names'], possible: [] },
};
type Member = Exclude<keyof ServerAuth, 'kind'>;

export function authProblem(server: ServerConfig): string | undefined {
  const { auth, headers, forward_headers, identity } = server;
  if (auth === undefined) return undefined;
  if (serverAddress(server) === undefined) return 'has auth but no url';
  const { kind, ...given } = auth;
  const { needed, possible } = members[kind];
  const missing = needed.find((member) => given[member] === undefined || [given[member]].flat().length === 0);
  if (missing !== undefined) return `auth of kind ${kind} needs ${missing}`;
  const known = [...needed, ...possible];
  const surplus = (Object.keys(given) as Member[]).find(
    (member) => given[member] !== undefined && !known.includes(member),
  );
  if (surplus !== undefined) return `auth of kind ${kind} has no ${surplus}`;
  if (auth.client_secret !== undefined && auth.client_id === undefined)
    return 'auth has a client_secret but no client_id';
  const { id_jag: isIdJag = false, server_client_id: ownId } = auth;
  if (isIdJag && (ownId === undefined || auth.client_id === undefined || auth.audience !== undefined))
    return 'auth with id_jag needs client_id and server_client_id, and has no audience';
  if (!isIdJag && (ownId ?? auth.server_client_secret) !== undefined)
    return 'auth has a client at the issuer of the server but no id_jag';
  const wrong = auth.names?.find((name) => isOwnHeader(name));
  if (wrong !== undefined) return `auth cannot send the header '${wrong}'`;
  const set = new Set((auth.names ?? ['authorization']).map((name) => name.toLowerCase()));
  const statement =
    identity === undefined ? [] : [(typeof identity === 'object' && identity.header) || 'authorization'];
  const twice = [...Object.keys(headers), ...forward_headers, ...statement].find((name) => set.has(name.toLowerCase()));
  return twice === undefined
    ? undefined
    : `sends the header '${twice}' twice: by auth, and by headers, forward_headers or identity`;
}
