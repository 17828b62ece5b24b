// Hosts that a tool server with `network: { allow: […] }` may reach. Names are compared as written; an address, including
// that of a connection, is allowed only if it is public or in the list itself.
import { isIP } from 'node:net';
import { readAllowedHost, readHostPort, type AllowedHost } from '#libs/config/addresses/host-name.js';
import { isPublicAddress } from '#libs/http-client/address-guard.js';

export interface EgressTarget {
  /** As returned by `readHostPort`. */
  host: string;
  port: number;
}

/** The ports of an entry without a port. */
const defaultPorts: readonly number[] = [80, 443];

export class EgressRules {
  private readonly entries: readonly AllowedHost[];

  /** @throws Error for an entry that is no host, which the configuration does not accept. */
  constructor(allow: readonly string[]) {
    this.entries = allow.map((entry) => {
      const read = readAllowedHost(entry);
      if (read === undefined) throw new Error(`'${entry}' is not a host`);
      return read;
    });
  }

  allows({ host, port }: EgressTarget): boolean {
    return this.entries.some(
      (entry) =>
        (entry.below ? isIP(host) === 0 && host.endsWith(`.${entry.host}`) : host === entry.host) &&
        (entry.port === undefined ? defaultPorts.includes(port) : port === entry.port),
    );
  }

  /** An address about to be connected to, whatever name resolved to it. */
  allowsAddress(address: string, port: number): boolean {
    if (isPublicAddress(address)) return true;
    const host = readHostPort(isIP(address) === 6 ? `[${address}]` : address)?.host;
    return host !== undefined && this.allows({ host, port });
  }
}
