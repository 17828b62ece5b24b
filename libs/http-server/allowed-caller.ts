// Which Host and Origin a local server accepts: protects against DNS rebinding and foreign web pages.
import { isIP } from 'node:net';

/** An address cannot be rebound; a name must be an allowed one. `hosts`: lower case. */
export function hostAllowed(header: string | undefined, hosts: ReadonlySet<string>): boolean {
  if (header === undefined) return false;
  const name = /^(\[[0-9a-f:.]+\]|[^:/\s@]+)(?::\d{1,5})?$/i.exec(header)?.[1]?.toLowerCase();
  if (name === undefined) return false;
  return hosts.has(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

/** A browser's request is accepted if its page is from the same Host, or its origin is listed (`*`: any). */
export function originAllowed(origin: string, host: string | undefined, origins: ReadonlySet<string>): boolean {
  return origin === `http://${host}` || origin === `https://${host}` || origins.has('*') || origins.has(origin);
}
