// Reads REDIS_URL: one server, a master behind sentinels, or a cluster. Errors do not repeat the URL, which may contain a
// password.
import { isIP } from 'node:net';

export interface RedisNode {
  host: string;
  port: number;
}

interface RedisAccess {
  tls: boolean;
  username?: string;
  password?: string;
}

export type RedisTarget = RedisAccess &
  (
    | { kind: 'server'; node: RedisNode; database: number }
    | {
        kind: 'sentinel';
        sentinels: RedisNode[];
        name: string;
        database: number;
        sentinelPassword?: string;
      }
    | { kind: 'cluster'; nodes: RedisNode[] }
  );

/** For the operator. Describes the problem without the URL's text. */
export class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError';
}

const forms =
  'redis://host:6379/0, rediss:// for TLS, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:6379,host:6379';

const shape = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/** @throws RedisUrlError */
export function parseRedisUrl(url: string): RedisTarget {
  const found = shape.exec(url.trim());
  if (found === null) {
    throw new RedisUrlError(`must be ${forms}; a password with / ? # or @ in it is percent-encoded`);
  }
  const [, scheme, kind, user, hosts = '', path = '', query = ''] = found;
  const access = { tls: scheme === 'rediss', ...readUser(user) };
  const nodes = hosts.split(',').map((text) => readNode(text, kind === 'sentinel' ? 26_379 : 6_379));
  if (kind === 'sentinel') return { ...access, kind, sentinels: nodes, ...readMaster(path, query) };
  refuseQuery(query);
  if (kind === 'cluster') {
    if (path !== '' && path !== '0') throw new RedisUrlError('names a database: a cluster has only database 0');
    return { ...access, kind, nodes };
  }
  if (nodes.length > 1) throw new RedisUrlError('names several hosts: use redis+cluster:// or redis+sentinel://');
  return { ...access, kind: 'server', node: nodes[0]!, database: readDatabase(path) };
}

function readUser(text: string | undefined): Pick<RedisAccess, 'username' | 'password'> {
  if (text === undefined || text === '') return {};
  const colon = text.indexOf(':');
  const username = decode(colon < 0 ? text : text.slice(0, colon), 'user name');
  const password = colon < 0 ? '' : decode(text.slice(colon + 1), 'password');
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
}

function readNode(text: string, defaultPort: number): RedisNode {
  const found = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const host = found?.[1] ?? found?.[2];
  const port = found?.[3] === undefined ? defaultPort : Number(found[3]);
  const isHost = host !== undefined && (found?.[1] === undefined ? !/\s/.test(host) : isIP(host) === 6);
  if (!isHost || port < 1 || port > 65_535) {
    throw new RedisUrlError('has an invalid host: each must be host:port, with IPv6 addresses in brackets');
  }
  return { host, port };
}

function readMaster(path: string, query: string): { name: string; database: number; sentinelPassword?: string } {
  const [name = '', database = '', ...more] = path.split('/');
  if (name === '' || more.length > 0) {
    throw new RedisUrlError('needs the name of the master after the sentinels: redis+sentinel://host:26379/name');
  }
  const parameters = new URLSearchParams(query);
  const sentinelPassword = parameters.get('sentinel_password');
  parameters.delete('sentinel_password');
  refuseQuery(parameters.toString());
  return {
    name: decode(name, 'name of the master'),
    database: readDatabase(database),
    ...(sentinelPassword === null || sentinelPassword === '' ? {} : { sentinelPassword }),
  };
}

function readDatabase(path: string): number {
  if (path === '') return 0;
  if (!/^\d{1,4}$/.test(path)) throw new RedisUrlError('has a database that is not a number');
  return Number(path);
}

function refuseQuery(query: string): void {
  const [first] = new URLSearchParams(query).keys();
  if (first === undefined) return;
  throw new RedisUrlError('has an unknown parameter after the ?: only sentinel_password is known, for sentinels');
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError(`has a ${what} that is not percent-encoded correctly`);
  }
}
