// Names of hosts as they are compared: in ASCII, in small letters, without a dot at the end. Entries of an allow-list and
// what a program asks for are read by the same functions, so that no spelling passes one and means another to the other.
import { isIP } from 'node:net';

export interface HostPort {
  /** ASCII, in small letters; an address in its canonical form, without brackets. */
  host: string;
  port: number | undefined;
}

export interface AllowedHost extends HostPort {
  /** `*.` stood before it: what is below the host, and not the host itself. */
  below: boolean;
}

const form = /^(\[[0-9a-f:.]+\]|[^\s:/\\@?#%[\]<>^|*]+)(?::(\d{1,5}))?$/i;

/** `host`, `host:port`, `[address]` or `[address]:port`; undefined for anything else. */
export function readHostPort(text: string): HostPort | undefined {
  const [, name, port] = form.exec(text) ?? [];
  if (name === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) return undefined;
  // The host parser of URLs: punycode, numbers in any base that mean an IPv4 address, one form for an IPv6 address.
  if (!URL.canParse(`http://${name}/`)) return undefined;
  const host = new URL(`http://${name}/`).hostname.replaceAll(/[[\]]/g, '').replace(/\.$/, '');
  if (host === '' || host.length > 253) return undefined;
  return { host, port: port === undefined ? undefined : Number(port) };
}

/** An entry of an allow-list; undefined where it is none. */
export function readAllowedHost(entry: string): AllowedHost | undefined {
  const below = entry.startsWith('*.');
  const read = readHostPort(isIP(entry) === 6 ? `[${entry}]` : entry.slice(below ? 2 : 0));
  if (read === undefined || (below && isIP(read.host) !== 0)) return undefined;
  return { ...read, below };
}
