// Which addresses `fetch` may connect to: the public internet, and what the operator allows in addition. The check is on the
// address that is actually connected to, so changing a DNS answer between check and connection achieves nothing.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { AppError } from '#libs/schemas/errors.js';

/** IANA special-purpose registry, multicast and reserved space. */
const ipv4 = subnets(
  `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
  192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`,
  'ipv4',
);
const globalIpv6 = subnets('2000::/3', 'ipv6');
/** The non-public parts of 2000::/3, outside of which nothing is public: Teredo, ORCHID, documentation, 6to4. */
const ipv6 = subnets('2001::/23 2001:db8::/32 2002::/16 3fff::/20', 'ipv6');

function subnets(text: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const each of text.split(/\s+/)) {
    const [net, prefix] = each.split('/');
    list.addSubnet(net!, Number(prefix), family);
  }
  return list;
}

/** IPv4 inside IPv6 (mapped, NAT64) is outside 2000::/3 and therefore never public. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !ipv4.check(address, 'ipv4');
  const plain = address.split('%')[0]!;
  if (isIP(plain) !== 6) return false;
  return globalIpv6.check(plain, 'ipv6') && !ipv6.check(plain, 'ipv6');
}

export type Lookup = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[] | string, family?: number) => void,
) => void;

/** A lookup that returns only permitted addresses, and fails with `refusal` if there are none. */
export function guardedLookup(
  resolve: Lookup,
  { mayConnect, refusal }: { mayConnect: (address: string) => boolean; refusal: () => Error },
): Lookup {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const open = (addresses as LookupAddress[]).filter(({ address }) => mayConnect(address));
      if (open.length === 0) return callback(refusal(), []);
      if (options.all === true) callback(null, open);
      else callback(null, open[0]!.address, open[0]!.family);
    });
  };
}

export class AddressGuard {
  private readonly hosts = new Set<string>();
  private readonly nets = new BlockList();

  /** @param allow host, host:port, address or CIDR. @throws Error for an invalid entry */
  constructor(
    allow: readonly string[],
    private readonly resolve: Lookup = dnsLookup,
  ) {
    for (const entry of allow) this.add(entry.trim().toLowerCase());
  }

  /**
   * A lookup for connections of one URL that returns only permitted addresses.
   * @throws AppError tool_denied for a forbidden IP literal, which needs no lookup
   */
  lookup(url: URL): Lookup {
    const mayConnect = (address: string) => isPublicAddress(address) || this.allows(address, url);
    const host = hostOf(url);
    if (isIP(host) !== 0 && !mayConnect(host)) throw refused(url);
    return guardedLookup(this.resolve, { mayConnect, refusal: () => refused(url) });
  }

  private allows(address: string, url: URL): boolean {
    const host = hostOf(url);
    if (this.hosts.has(host) || this.hosts.has(`${host}:${portOf(url)}`)) return true;
    const family = isIP(address);
    return family !== 0 && this.nets.check(address, family === 4 ? 'ipv4' : 'ipv6');
  }

  private add(entry: string): void {
    const [net = '', prefix] = entry.split('/');
    const family = isIP(net);
    if (prefix === undefined) {
      this.hosts.add(entry.replaceAll(/[[\]]/g, ''));
      return;
    }
    if (family === 0 || !/^\d{1,3}$/.test(prefix))
      throw new Error(`tools.fetch_allow: '${entry}' is neither a host nor a CIDR`);
    this.nets.addSubnet(net, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  }
}

/** The host without brackets and trailing dot, so that equal hosts compare equal. */
export const hostOf = (url: URL) =>
  url.hostname
    .replaceAll(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
const portOf = (url: URL) => (url.port !== '' ? url.port : url.protocol === 'https:' ? '443' : '80');

const refused = (url: URL) =>
  new AppError(
    'tool_denied',
    `${hostOf(url)} is a private or reserved address: the operator can allow it in tools.fetch_allow`,
  );
