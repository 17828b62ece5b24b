// Reads host names in one canonical form: ASCII, lower case, no trailing dot. Allow-lists and requested hosts use the same
// functions, so that no spelling can bypass a list.
import { isIP } from 'node:net';

export interface HostPort {
  /** ASCII, in lower case; an IP address in its canonical form, without brackets. */
  host: string;
  port: number | undefined;
}

export interface AllowedHost extends HostPort {
  /** `*.` before the host: only its subdomains, not the host itself. */
  below: boolean;
}

const form = /^(\[[0-9a-f:.]+\]|[^\s:/\\@?#%[\]<>^|*]+)(?::(\d{1,5}))?$/i;

/** `host`, `host:port`, `[address]` or `[address]:port`; undefined for anything else. */
export function readHostPort(text: string): HostPort | undefined {
  const [, name, port] = form.exec(text) ?? [];
  if (name === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) return undefined;
  // The URL parser normalises punycode, IPv4 addresses in other notations, and IPv6 addresses.
  if (!URL.canParse(`http://${name}/`)) return undefined;
  const host = new URL(`http://${name}/`).hostname.replaceAll(/[[\]]/g, '').replace(/\.$/, '');
  if (host === '' || host.length > 253) return undefined;
  return { host, port: port === undefined ? undefined : Number(port) };
}

/** An entry of an allow-list; undefined if it is invalid. */
export function readAllowedHost(entry: string): AllowedHost | undefined {
  const below = entry.startsWith('*.');
  const read = readHostPort(isIP(entry) === 6 ? `[${entry}]` : entry.slice(below ? 2 : 0));
  if (read === undefined || (below && isIP(read.host) !== 0)) return undefined;
  return { ...read, below };
}
